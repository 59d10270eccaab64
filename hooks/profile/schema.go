package profile

import (
	"encoding/json"
)

// Schema prints the format as JSON Schema 2020-12; mpiimport/profiles/profile.schema.json is this text.
func Schema() ([]byte, error) {
	document := profileShape.schema()
	document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	document["title"] = "mpiimport site profile"
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

func (s *shape) schema() map[string]any {
	out := map[string]any{"type": string(s.kind), "description": s.description}
	switch {
	case len(s.keys) > 0:
		properties := map[string]any{}
		required := []string{}
		for _, k := range s.keys {
			properties[k.name] = k.shape.schema()
			if k.required {
				required = append(required, k.name)
			}
		}
		out["properties"] = properties
		out["additionalProperties"] = false
		if len(required) > 0 {
			out["required"] = required
		}
	case s.kind == mapping:
		out["propertyNames"] = map[string]any{"pattern": s.names, "not": map[string]any{"pattern": s.reserved}}
		out["additionalProperties"] = s.values.schema()
	case s.kind == list:
		out["items"] = s.values.schema()
	}
	if s.some {
		out[map[kind]string{mapping: "minProperties", list: "minItems"}[s.kind]] = 1
	}
	if s.pattern != "" {
		out["pattern"] = s.pattern
	}
	if s.several {
		out["type"] = []string{string(s.kind), string(list)}
		out["items"] = map[string]any{"type": string(s.kind), "pattern": s.pattern}
		out["minItems"] = 1
	}
	if s.variables {
		out["pattern"] = s.written
		// No keyword of JSON Schema: it tells readers that ${NAME} is a variable here.
		out["x-variables"] = true
	}
	if len(s.oneOf) > 0 {
		out["enum"] = s.oneOf
	}
	if s.minimum != 0 {
		out["minimum"] = s.minimum
	}
	if s.only != 0 {
		out["const"] = s.only
	}
	return out
}
