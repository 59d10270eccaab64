package sharedlib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// The entries of .gnu.version_r and .gnu.version_d (Linux Standard Base, Symbol Versioning). debug/elf itself reads them
// only as far as symbols refer to them.
type (
	need struct {
		Version, Count  uint16
		File, Aux, Next uint32
	}
	needed struct {
		Hash         uint32
		Flags, Other uint16
		Name, Next   uint32
	}
	definition struct {
		Version, Flags, Index, Count uint16
		Hash, Aux, Next              uint32
	}
	defined struct{ Name, Next uint32 }
)

// table is a section of versions with its strings.
type table struct {
	order binary.ByteOrder
	data  []byte
	names []byte
}

// versions returns the versions that a library needs, by the name of who has to have them, and those that it has.
func versions(file *elf.File) (map[string][]string, []string) {
	needs, has := map[string][]string{}, []string{}
	if t, ok := tableOf(file, elf.SHT_GNU_VERNEED); ok {
		t.walk(func(at uint32) uint32 {
			var entry need
			if !t.read(at, &entry) {
				return 0
			}
			library := t.name(entry.File)
			for one, left := at+entry.Aux, entry.Count; left > 0; left-- {
				var version needed
				if !t.read(one, &version) {
					break
				}
				needs[library] = append(needs[library], t.name(version.Name))
				one += version.Next
			}
			return entry.Next
		})
	}
	if t, ok := tableOf(file, elf.SHT_GNU_VERDEF); ok {
		t.walk(func(at uint32) uint32 {
			var entry definition
			var first defined
			if !t.read(at, &entry) || !t.read(at+entry.Aux, &first) {
				return 0
			}
			has = append(has, t.name(first.Name))
			return entry.Next
		})
	}
	return needs, has
}

func tableOf(file *elf.File, kind elf.SectionType) (table, bool) {
	section := file.SectionByType(kind)
	if section == nil || int(section.Link) >= len(file.Sections) {
		return table{}, false
	}
	data, err := section.Data()
	if err != nil {
		return table{}, false
	}
	names, err := file.Sections[section.Link].Data()
	return table{file.ByteOrder, data, names}, err == nil
}

// walk visits entries until one says that none follows, or a damaged table has named more than it has room for.
func (t table) walk(visit func(at uint32) (next uint32)) {
	at := uint32(0)
	for range len(t.data) / binary.Size(need{}) {
		next := visit(at)
		if next == 0 {
			return
		}
		at += next
	}
}

func (t table) read(at uint32, entry any) bool {
	if uint64(at)+uint64(binary.Size(entry)) > uint64(len(t.data)) {
		return false
	}
	return binary.Read(bytes.NewReader(t.data[at:]), t.order, entry) == nil
}

func (t table) name(at uint32) string {
	if uint64(at) >= uint64(len(t.names)) {
		return ""
	}
	text, _, _ := bytes.Cut(t.names[at:], []byte{0})
	return string(text)
}
