// Package yamltext decodes YAML that people write.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Decode reads a text with one document. With onlyKnown a key that the value has no place for is an error. An empty text
// says nothing. The library panics at some texts, such as one with a merge (<<) beside a list for a key: that is an error
// as any other.
func Decode(text []byte, value any, onlyKnown bool) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("yaml: %v", cause)
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(onlyKnown)
	if err := decoder.Decode(value); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
