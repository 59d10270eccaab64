package storecache

import "testing"

func TestUsersAreKnownByTheirNumbersOutside(t *testing.T) {
	const rootless = "         0       1001          1\n         1     100000      65536\n"
	for inside, want := range map[int]int{0: 1001, 1: 100000, 1000: 100999} {
		if got, ok := mapped(inside, rootless); !ok || got != want {
			t.Error(inside, got, ok)
		}
	}
	if got, ok := mapped(70000, rootless); ok {
		t.Error(got)
	}
}
