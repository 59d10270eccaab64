package released

import "testing"

func TestEachOfSeveralProfilesHasToBeReleasedForStores(t *testing.T) {
	list := List{"a": {Keep: true}, "b": {Keep: true}, "c": {}}
	for asked, want := range map[string]bool{"a": true, "a,b": true, "c": false, "a,c": false, "d": false, "a,d": false} {
		if list.MayCache(asked) != want {
			t.Errorf("%s: %v", asked, !want)
		}
	}
}
