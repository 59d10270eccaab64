// Package randomprofile writes profiles for tests: sound ones, and such with mistakes of all kinds, in many styles of YAML.
package randomprofile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mpiimport.org/hooks/internal/chance/fuzzing"
	"mpiimport.org/hooks/profile"
)

// Name is the name that the profiles give themselves.
const Name = "site"

// samples are texts for the patterns of the format; which fits where, the patterns say.
var samples = []string{
	"site", "mpich", "/a", "/usr", "/a b/*", "/x/..", "//", "/dev/null", "/dev/null*", "/dev/[n]ull", "/dev/shm/x", "/dev/../etc", "lib.so", "/a/lib.so.1", "A", "B",
	"LD_LIBRARY_PATH", "PATH", "SLURM_*", "_", "HOME", "MPIIMPORT_X", "mod.sub", "torch", "libx*", "4GiB", "50%", "100%", "0%", "mpi", "--nv", "--bind",
	"--bind=/a:/b", "--nv=x", "--help", "--mpiimport=x", "--writable", "--writable-tmpfs=true", "--cwd=/", "node[0-9]", "*", "mounts", "environment.set.A", "service.readers",
	"user_namespace", "srun", "two words", "é", " ", "-x", "off", "a\nb", "x\n", "", "/.mpiimport", "/", "/proc",
}

// odd are scalars as they are written that one reader of YAML may take for something else than another.
var odd = []string{
	"yes", "no", "on", "Off", "y", "N", "true", "True", "TRUE", "~", "null", "Null", "NULL", "", "1:30", "190:20:30", "012", "0o7", "0x1F", "0b1", "1_000", "1e3", "1.", ".5",
	"+5", "-0", "- 0", "1.0", ".nan", ".inf", "-.INF", "99999999999999999999", "9223372036854775808", "2020-01-01", "2020-01-01 10:00:00", "<<", "=", "*a", "&a x", "&a",
	"!!str 5", "!!int '5'", "!!int x", "!!bool 'true'", "!!binary aGk=", "!!null ''", "!!float 1", "!!set {a}", "!x y", "! x", "!<tag:yaml.org,2002:str> 5", "'it''s'",
	`"\u0085"`, `"\0"`, `"\x07"`, `"\ud800"`, `"\U00110000"`, `"\/"`, `"\e"`, `"a\
  b"`, "'\t'", "a #b", "a# b", "a: b", "a:b", "{a: b}", "[a]", "{}", "[]", "|\n      a\n", ">-\n      a\n", "|2\n  a\n", "%x", "@x", "`x", "'", "\"", "\t", "x\t", "\u2028",
	"\ufeff", "\u0085", "a\u00a0b", "0", "00", "08", "1__0", "0x", "0b", "0_", "+0x1", "٣", "---", "...", "? a", "- a", "!!merge <<", "!!int 0o17", "0o8", "12e03", "1,000",
}

var schema = func() map[string]any {
	text, err := profile.Schema()
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}()

// Text returns a profile.
func Text(chance *fuzzing.Chance) []byte {
	w := writer{chance: chance, mistakes: fuzzing.One(chance, 0, 0, 60, 20)}
	out := []byte(strings.TrimPrefix(w.object(schema, 0, chance.In(5), "schema_version", "name", "description"), "\n") + "\n")
	for w.mistakes > 0 && chance.In(5) {
		at := chance.Below(len(out))
		switch chance.Below(3) {
		case 0:
			out = slices.Insert(out, at, []byte(chance.Text(3))...)
		case 1:
			out = slices.Delete(out, at, at+1)
		default:
			out[at] = byte(chance.Below(256))
		}
	}
	return out
}

// Install lays a text where its owner's profiles are looked for: the first result is for XDG_CONFIG_HOME, the second the
// directory of the profile.
func Install(t *testing.T, text []byte) (string, string) {
	t.Helper()
	config := t.TempDir()
	directory := filepath.Join(config, "mpiimport", "profiles")
	if err := errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(filepath.Join(directory, Name+".yaml"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	return config, directory
}

// Parse reads such a text.
func Parse(t *testing.T, text []byte) (*profile.Profile, error) {
	t.Helper()
	return profile.Parse(Name+".yaml", text)
}

// writer writes values, and a mistake once in so many; none where that is 0.
type writer struct {
	chance   *fuzzing.Chance
	mistakes int
}

func (w writer) errs() bool { return w.mistakes > 0 && w.chance.In(w.mistakes) }

// value returns what stands behind a colon or a hyphen.
func (w writer) value(s map[string]any, key string, indent int, flow bool) string {
	flow = flow || w.chance.In(4)
	if w.errs() {
		return " " + fuzzing.One(w.chance, odd...)
	}
	switch s["type"] {
	case "object":
		return w.object(s, indent, flow)
	case "array":
		return w.list(s, key, indent, flow)
	case "integer":
		if s["const"] != nil {
			return " 1"
		}
		return " " + fuzzing.One(w.chance, "1", "2", "17", "3600", "99999999")
	case "boolean":
		return " " + fuzzing.One(w.chance, "true", "false", "True", "FALSE")
	}
	return " " + w.scalar(w.text(s, key), flow)
}

// text returns a text that fits, or not.
func (w writer) text(s map[string]any, key string) string {
	if key == "name" && !w.errs() {
		return Name
	}
	if words, ok := s["enum"].([]any); ok && !w.errs() {
		return fuzzing.One(w.chance, words...).(string)
	}
	if s["pattern"] == nil && w.chance.In(2) {
		return strings.ToValidUTF8(w.chance.Text(12), "\u00e9")
	}
	return w.fitting(s)
}

func (w writer) fitting(s map[string]any) string {
	fits := slices.DeleteFunc(slices.Clone(samples), func(text string) bool { return !matches(s, text) })
	if len(fits) == 0 || w.errs() {
		return fuzzing.One(w.chance, samples...)
	}
	return fuzzing.One(w.chance, fits...)
}

func matches(s map[string]any, text string) bool {
	if not, ok := s["not"].(map[string]any); ok && matches(not, text) {
		return false
	}
	pattern, ok := s["pattern"].(string)
	if !ok {
		return true
	}
	found, ok := compiled[pattern]
	if !ok {
		found = regexp.MustCompile(pattern)
		compiled[pattern] = found
	}
	return found.MatchString(text)
}

var (
	compiled = map[string]*regexp.Regexp{}
	isPlain  = regexp.MustCompile(`^[A-Za-z/_][A-Za-z0-9/_. é+-]*[A-Za-z0-9]$`)
)

// scalar writes a text in one of YAML's styles; plain only where that reads as it is.
func (w writer) scalar(text string, flow bool) string {
	switch style := w.chance.Below(4); {
	case style < 2 && isPlain.MatchString(text):
		return text
	case style == 2 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	out := strings.Builder{}
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			fmt.Fprintf(&out, `\%c`, r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			out.WriteRune(r)
		}
	}
	return `"` + out.String() + `"`
}

func (w writer) list(s map[string]any, key string, indent int, flow bool) string {
	items, _ := s["items"].(map[string]any)
	out := strings.Builder{}
	count := w.chance.Below(4)
	for i := range count {
		item := w.value(items, key, indent+2, flow)
		switch {
		case !flow:
			out.WriteString("\n" + strings.Repeat(" ", indent) + "-" + item)
		case i > 0:
			out.WriteString("," + item)
		default:
			out.WriteString(item)
		}
	}
	if flow || count == 0 {
		return " [" + out.String() + "]"
	}
	return out.String()
}

func (w writer) object(s map[string]any, indent int, flow bool, always ...string) string {
	parts := []string{}
	properties, isFixed := s["properties"].(map[string]any)
	if isFixed {
		required, _ := s["required"].([]any)
		for _, name := range slices.Concat(always, slices.Sorted(maps.Keys(properties))) {
			isRequired := slices.Contains(required, any(name))
			if isRequired && slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, name+":") }) {
				continue
			}
			// Of what may be left out, most is.
			if isRequired != w.errs() || !isRequired && name != "extends" && w.chance.In(4) {
				inner, _ := properties[name].(map[string]any)
				parts = append(parts, name+":"+w.value(inner, name, indent+2, flow))
			}
		}
	} else {
		names, _ := s["propertyNames"].(map[string]any)
		inner, _ := s["additionalProperties"].(map[string]any)
		for range w.chance.Below(3) {
			parts = append(parts, w.scalar(w.fitting(names), true)+":"+w.value(inner, "", indent+2, flow))
		}
	}
	if w.errs() {
		parts = append(parts, fuzzing.One(w.chance, "enviroment: x", "mounts: []", "name: site", "~: x", "5: x", "<<: {a: b}", "[a]: b", "yes: x", "\"a\\0\": x"))
	}
	switch {
	case flow || len(parts) == 0:
		return " {" + strings.Join(parts, ", ") + "}"
	default:
		return "\n" + strings.Repeat(" ", indent) + strings.Join(parts, "\n"+strings.Repeat(" ", indent))
	}
}
