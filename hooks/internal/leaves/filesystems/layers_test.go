package filesystems

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyLayersThatNobodyChangesTellAnImage(t *testing.T) {
	const one, two = "/s/overlay/l/ZPJLZRQF57I5FEMJ7VUWLOGMGX", "/s/overlay/l/XPHOO6G7BAODFWLBW74EWR4WI2"
	mount := func(kind, options string) string {
		return "248 244 0:70 / /s/merged rw,relatime - " + kind + " overlay rw," + options + ",upperdir=/s/u,workdir=/s/w\n"
	}
	for name, c := range map[string]struct{ mounts, want string }{
		"one layer":                         {mount("overlay", "lowerdir="+one), one},
		"several":                           {mount("overlay", "lowerdir="+one+":"+two), one + ":" + two},
		"by short names":                    {mount("overlay", "lowerdir=l/ZPJLZRQF57I5FEMJ7VUWLOGMGX"), "l/ZPJLZRQF57I5FEMJ7VUWLOGMGX"},
		"copied for other users":            {mount("overlay", "lowerdir="+one+":"+one+"/../diff1:"+two), one + ":" + one + "/../diff1:" + two},
		"a directory of somebody's":         {mount("overlay", "lowerdir="+one+":/home/u/tree"), ""},
		"a container's own copy":            {mount("overlay", "lowerdir=/s/overlay/efc157d67ed7/mapped/0"), ""},
		"numbered ones, which come again":   {mount("overlay", "lowerdir=/var/lib/containerd/snapshots/7/fs"), ""},
		"another file system":               {mount("fuse.fuse-overlayfs", "lowerdir="+one), ""},
		"what is mounted last counts":       {mount("overlay", "lowerdir="+one) + mount("tmpfs", "size=1"), ""},
		"of another container nothing":      {"248 244 0:70 / /s/other rw - overlay overlay rw,lowerdir=" + one + "\n", ""},
		"a directory that is not mounted":   {"", ""},
		"a line that is not understood":     {"x - overlay\n" + mount("overlay", "lowerdir="+one), one},
		"a layer that lies in another tree": {mount("overlay", "lowerdir="+one+"/x"), ""},
	} {
		file := filepath.Join(t.TempDir(), "mountinfo")
		if err := os.WriteFile(file, []byte(c.mounts), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Layers("/s/merged", file); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := Layers("/", "/none"); got != "" {
		t.Error(got)
	}
}
