package ocihook

import (
	"reflect"
	"strings"
	"testing"
)

func TestDevicesJoinThoseOfTheContainer(t *testing.T) {
	own := map[string]any{"path": "/dev/own", "type": "c", "major": 1, "minor": 5}
	closed := map[string]any{"allow": false, "access": "rwm"}
	text := with(t, func(c map[string]any) {
		annotate("site")(c)
		object(c, "linux")["devices"] = []any{own}
		object(c, "linux")["resources"] = map[string]any{"devices": []any{closed}}
	})
	h := host(site[:len(site)-1] + ", devices: [{path: /dev/null}, {path: '/dev/zer?'}]}")
	once, err := Precreate(text, h)
	if err != nil {
		t.Fatal(err)
	}
	linux := object(decode(t, once), "linux")
	got := []string{}
	for _, node := range linux["devices"].([]any) {
		got = append(got, node.(map[string]any)["path"].(string))
	}
	if strings.Join(got, " ") != "/dev/own /dev/null /dev/zero" {
		t.Errorf("%v", got)
	}
	rules := object(linux, "resources")["devices"].([]any)
	if len(rules) != 3 || !reflect.DeepEqual(rules[0], any(closed)) {
		t.Errorf("%v", rules)
	}
	twice, err := Precreate(once, h)
	if err != nil || !reflect.DeepEqual(linux, object(decode(t, twice), "linux")) {
		t.Errorf("a hook that runs twice: %v\n%s\n%s", err, once, twice)
	}
}

func TestWhereAllDevicesAreThereNothingIsSaidOfDevices(t *testing.T) {
	text := with(t, func(c map[string]any) {
		annotate("site")(c)
		c["mounts"] = append(c["mounts"].([]any), map[string]any{"destination": "/dev/null", "type": "bind", "source": "/dev/null"})
	})
	out, err := Precreate(text, host(withDevice))
	if err != nil || !reflect.DeepEqual(decode(t, text)["linux"], decode(t, out)["linux"]) {
		t.Errorf("%v\n%s\n%s", err, text, out)
	}
}

func TestOddDevicesOfAContainerChangeNothing(t *testing.T) {
	h := host(site[:len(site)-1] + ", devices: [{path: /dev/null}]}")
	for _, odd := range []any{"word", map[string]any{"a": 1}, []any{1}} {
		text := with(t, func(c map[string]any) {
			annotate("site")(c)
			object(c, "linux")["devices"] = odd
		})
		if out, err := Precreate(text, h); err == nil && string(out) == string(text) {
			t.Errorf("%v: neither changed nor an error: %s", odd, out)
		}
	}
}
