package containerstart

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestBoundImagesAreKnownByTheirFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v.sqsh")
	if err := os.WriteFile(file, []byte("image"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := []string{}
	for name, check := range map[string]struct {
		words, env, targets []string
	}{
		"-B":               {words: []string{"-B", file + ":/uv:image-src=/"}, targets: []string{"/uv"}},
		"-B and its value": {words: []string{"-B" + file + ":/uv:image-src=/"}, targets: []string{"/uv"}},
		"--bind=":          {words: []string{"--bind=" + file + ":/uv/:ro,image-src=/a"}, targets: []string{"/uv"}},
		"two":              {words: []string{"-B", "/a:/b," + file + ":/uv:image-src=/," + file + ":/w:id=1,image-src=/"}, targets: []string{"/uv", "/w"}},
		"of the plugin":    {words: []string{"bind", "[/a:/b:ro," + file + ":/uv:image-src=/]"}, targets: []string{"/uv"}},
		"--mount":          {words: []string{"--mount", "type=bind,src=" + file + ",dst=/uv,image-src=/"}, targets: []string{"/uv"}},
		"a variable":       {env: []string{"APPTAINER_BIND=" + file + ":/uv:image-src=/"}, targets: []string{"/uv"}},
		"a directory":      {words: []string{"-B", filepath.Dir(file) + ":/uv:image-src=/"}, targets: none},
		"no image":         {words: []string{"-B", file + ":/uv:ro"}, targets: none},
		"not there":        {words: []string{"-B", "/nowhere:/uv:image-src=/"}, targets: none},
		"a relative place": {words: []string{"-B", file + ":uv:image-src=/"}, targets: none},
	} {
		t.Run(name, func(t *testing.T) {
			want := "^"
			for _, target := range check.targets {
				want += ";" + hex.EncodeToString([]byte(target)) + `=\d+:5:\d+:\d+`
			}
			got := Call{Words: check.words, Env: check.env}.boundImages()
			if !regexp.MustCompile(want + "$").MatchString(got) {
				t.Errorf("%q is not %s", got, strings.TrimSpace(want))
			}
		})
	}
}
