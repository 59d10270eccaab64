package profile

// shape describes one place in a profile: what may stand there and what it means. The table below is the
// only description of the format: the validator walks it and the JSON Schema is printed from it.
type shape struct {
	kind        kind
	description string
	keys        []key    // of a mapping with fixed keys
	names       string   // pattern for the keys of a free mapping
	reserved    string   // pattern that those keys must not match
	values      *shape   // of a free mapping, or of a list
	pattern     string   // of a string
	hint        string   // the pattern in words
	oneOf       []string // of a string
	minimum     int      // of an integer
	only        int      // the one value an integer may have
}

type key struct {
	name     string
	required bool
	shape    *shape
}

type kind string

const (
	mapping kind = "object"
	list    kind = "array"
	text    kind = "string"
	number  kind = "integer"
	truth   kind = "boolean"
)

const (
	namePattern     = `^[a-z0-9-]+$`
	pathPattern     = `^/[^:,"'\\\n]+$`
	variablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`
	// The runtimes set these themselves or refuse to; our own have the section `service`.
	reservedPattern = `^(MPIIMPORT.*|APPTAINER.*|SINGULARITY.*|HOME|UID|GID)$`
)

var nameHint = "lower-case letters, digits and hyphens"
var pathHint = `an absolute path without : , " ' \`

func absolutePath(description string) *shape {
	return &shape{kind: text, description: description, pattern: pathPattern, hint: pathHint}
}

func variables(description string, value *shape) *shape {
	return &shape{kind: mapping, description: description, names: variablePattern, reserved: reservedPattern, values: value}
}

func environmentShape(description string) *shape {
	return &shape{kind: mapping, description: description, keys: []key{
		{name: "set", shape: variables("Variables that get this value.",
			&shape{kind: text, description: "The value, taken literally."})},
		{name: "append", shape: variables("Colon lists that get this directory as their last element.",
			&shape{kind: text, description: "The element, taken literally."})},
		{name: "unset", shape: &shape{kind: list, description: "Variables that are removed.",
			values: &shape{kind: text, description: "The name of a variable.", pattern: variablePattern, hint: "the name of a variable"}}},
	}}
}

var profileShape = &shape{
	kind:        mapping,
	description: "A site profile of mpiimport: what a machine or an MPI needs when a container is started.",
	keys: []key{
		{name: "schema_version", required: true, shape: &shape{kind: number, description: "The version of this format.", only: 1}},
		{name: "name", required: true, shape: &shape{kind: text, pattern: namePattern, hint: nameHint,
			description: "The profile's name; the same as its file name without .yaml."}},
		{name: "description", required: true, shape: &shape{kind: text, pattern: `\S`, hint: "some words",
			description: "One sentence for a person who chooses a profile."}},
		{name: "extends", shape: &shape{kind: text, pattern: namePattern, hint: nameHint,
			description: "The profile this one adds to: mappings are merged, lists appended."}},
		{name: "mounts", shape: &shape{kind: list, description: "Files and directories of the host that the container sees.",
			values: &shape{kind: mapping, description: "One file or directory.", keys: []key{
				{name: "source", required: true, shape: absolutePath("The path on the host; may be a glob pattern when target is left out.")},
				{name: "target", shape: absolutePath("The path in the container; the same as source when left out.")},
				{name: "optional", shape: &shape{kind: truth, description: "Whether a source that does not exist is passed over in silence."}},
				{name: "options", shape: &shape{kind: text, oneOf: []string{"ro", "rw"}, description: "Read-only (the default) or writable."}},
			}}}},
		{name: "environment", shape: environmentShape("Changes to the environment of every container.")},
		{name: "user_namespace", shape: &shape{kind: mapping, description: "What is needed in addition where the container runs in a user namespace.",
			keys: []key{{name: "environment", shape: environmentShape("Changes to the environment in a user namespace.")}}}},
		{name: "service", shape: &shape{kind: mapping, description: "Options of the import service; each becomes the variable MPIIMPORT_NAME.", keys: []key{
			{name: "store", shape: absolutePath("The directory, in the container, under which the store of a node is made.")},
			{name: "deadline", shape: &shape{kind: number, minimum: 1, description: "Seconds after which an activation that has not finished is given up."}},
			{name: "readers", shape: &shape{kind: number, minimum: 1, description: "How many files root reads at the same time."}},
			{name: "thread_level", shape: &shape{kind: text, oneOf: []string{"single", "funneled", "serialized", "multiple"},
				description: "The thread level that MPI is initialised with."}},
			{name: "init", shape: &shape{kind: text, oneOf: []string{"world", "session", "off"},
				description: "How MPI is started: MPI_Init, a session that ends before the program begins, or not at all. Write 'off' in quotes."}},
		}}},
	},
}
