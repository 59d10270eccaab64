package yamltext

import (
	"strings"
	"testing"
)

func TestWhatTheLibraryPanicsAtIsAnError(t *testing.T) {
	value := struct{ A map[string]string }{}
	for _, onlyKnown := range []bool{false, true} {
		if err := Decode([]byte("a:\n  []: x\n  <<: {b: c}\n"), &value, onlyKnown); err == nil || !strings.HasPrefix(err.Error(), "yaml: ") {
			t.Errorf("%v", err)
		}
		if err := Decode([]byte("a: {b: c}\n"), &value, onlyKnown); err != nil || value.A["b"] != "c" {
			t.Errorf("%v, %v", value, err)
		}
		if err := Decode([]byte("# nothing\n"), &value, onlyKnown); err != nil {
			t.Errorf("nothing: %v", err)
		}
	}
	if err := Decode([]byte("b: c\n"), &value, true); err == nil {
		t.Error("an unknown key is taken")
	}
}
