package profile

import "strings"

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
	whole       bool     // an extending profile replaces this list or free mapping instead of adding to it
	only        int      // the one value an integer may have
	several     bool     // of a string: a list of such may stand in its place
	some        bool     // of a mapping or a list: it must not be empty
	variables   bool     // of a string: it may refer to variables of the caller
	written     string   // pattern of such a string in a file; it has to match the other one with the variables in their places
	glob        bool     // of such a string: it may be a pattern, and what variables hold must not make it one
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
	namePattern     = `^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`
	pathPattern     = `^/[^:,"'\\\n]+$`
	devicePattern   = `^/dev/[^:$,"'\\\n]+$`
	libraryPattern  = `^(/[^:,"'\\\n]+|[^/:,"'\\\n]+)$`
	variablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`
	modulePattern   = `^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`
	// The runtimes set these themselves or refuse to; the others have sections of their own.
	reservedPattern = `^(_?MPIIMPORT.*|APPTAINER.*|SINGULARITY.*|MPI4PY_LIBMPI|HOME|UID|GID)$`
)

const (
	nameHint     = "lower-case letters, digits and hyphens between them"
	pathHint     = `an absolute path without : , " ' \`
	variableHint = "the name of a variable"
)

func absolutePath(description string) *shape {
	return word(description, pathPattern, pathHint)
}

func variables(description string, value *shape) *shape {
	return &shape{kind: mapping, description: description, names: variablePattern, reserved: reservedPattern, values: value}
}

func word(description, pattern, hint string) *shape {
	return &shape{kind: text, description: description, pattern: pattern, hint: hint}
}

func choice(description string, words ...string) *shape {
	return &shape{kind: text, description: description, oneOf: words}
}

func command(description string) *shape {
	return word(description, `^[^\n]*\S[^\n]*$`, "a line for a shell")
}

func count(description string) *shape {
	return &shape{kind: number, description: description, minimum: 1}
}

func listOf(description string, values *shape) *shape {
	return &shape{kind: list, description: description, values: values}
}

// whole marks what only makes sense as one piece.
func whole(s *shape) *shape {
	s.whole = true
	return s
}

func several(s *shape) *shape {
	s.several = true
	return s
}

// some marks what would say nothing if it were empty.
func some(s *shape) *shape {
	s.some = true
	return s
}

func section(description string, keys ...key) *shape {
	return &shape{kind: mapping, description: description, keys: keys}
}

func library(description string) *shape {
	return withVariables(word(description, libraryPattern, "a file name, or "+pathHint), writtenPath()+`|^`+anyOf(nameCharacter)+`+$`)
}

// pattern marks a path in which * ? [ ] have a meaning.
func pattern(s *shape) *shape {
	s.glob = true
	return s
}

func environmentShape(description string) *shape {
	return section(description,
		key{name: "set", shape: variables("Variables that get this value.",
			freeText("The value."))},
		key{name: "default", shape: variables("Variables that get this value where they are unset: neither the image nor the caller sets them.",
			freeText("The value."))},
		key{name: "append", shape: variables("Colon lists that get this directory as their last element.",
			freeText("The element."))},
		key{name: "keep", shape: listOf("Variables of the caller that enter the container also where its environment is cleaned.",
			word("The name of a variable; * stands for any letters.", `^[A-Za-z_*][A-Za-z0-9_*]*$`, "the name of a variable, with * for any letters"))},
		key{name: "unset", shape: listOf("Variables that are removed.", word("The name of a variable.", variablePattern, variableHint))},
	)
}

// The identity of a profile, and what it says: each of those sections, and each key in one, can be locked.
var identity = []key{
	{name: "schema_version", required: true, shape: &shape{kind: number, description: "The version of this format.", only: 1}},
	{name: "name", required: true, shape: word("The profile's name; the same as its file name without .yaml.", namePattern, nameHint)},
	{name: "description", required: true, shape: word("One sentence for a person who chooses a profile.", `\S`, "some words")},
	{name: "extends", shape: several(word("The profile this one adds to, or a list of such: mappings are merged, lists appended.", namePattern, nameHint))},
	{name: "when", shape: some(section("Where this profile is taken if the caller names none: all of this has to fit.",
		key{name: "hosts", shape: some(whole(listOf("One of these is the name of the host.", hostName)))},
		key{name: "variables", shape: some(variables("The caller has each of these variables.", word("The value, or a glob pattern of it.", `\S`, "some text")))},
		key{name: "partition", shape: some(whole(listOf("One of these is the job's partition or queue, as Slurm, PBS or LSF tell it.",
			word("A name or a glob pattern.", `\S`, "some text"))))},
	))},
}

var hostName = word("A host name or a glob pattern.", `^[A-Za-z0-9._*?\[\]-]+$`, "a host name, in which * ? and [ ] may stand")

var sections = []key{
	{name: "hosts", shape: whole(listOf("Host names of the machine; `mpiimport profile detect` compares them.",
		hostName))},
	{name: "host_variables", shape: whole(variables("Variables that only this machine has; `mpiimport profile detect` asks for them, too.",
		word("The value, or a glob pattern of it.", `\S`, "some text")))},
	{name: "mounts", shape: listOf("Files and directories of the host that the container sees.",
		section("One file or directory.",
			key{name: "source", required: true, shape: pattern(pathWithVariables("The path on the host; may be a glob pattern when target is missing."))},
			key{name: "target", shape: pathWithVariables("The path in the container; the same as source when missing.")},
			key{name: "optional", shape: &shape{kind: truth, description: "Whether a source that does not exist is passed over in silence."}},
			key{name: "options", shape: choice("Read-only (the default) or writable.", "ro", "rw")},
		))},
	{name: "devices", shape: listOf("Device nodes of the host that programs in the container use.",
		section("One device, or those that a pattern fits.",
			key{name: "path", required: true, shape: word("The path, on the host and in the container; may be a glob pattern.",
				devicePattern, "the path of a device node below /dev, without : $ , \" ' \\")},
			key{name: "optional", shape: &shape{kind: truth, description: "Whether a device that does not exist is passed over in silence."}},
		))},
	{name: "environment", shape: environmentShape("Changes to the environment of every container.")},
	{name: "user_namespace", shape: section("What is needed in addition where the container runs in a user namespace.",
		key{name: "environment", shape: environmentShape("Changes to the environment in a user namespace.")})},
	{name: "mpi", shape: section("The MPI library that the image's Python uses, and how libraries are loaded.",
		key{name: "library", shape: library("The MPI library, in the container, that mpi4py's binary for every MPI loads (MPI4PY_LIBMPI).")},
		key{name: "abi", shape: choice("The binary interface that the profile is made for.", "mpich", "openmpi")},
		key{name: "preload", shape: listOf("Libraries whose symbols every later one sees (RTLD_GLOBAL) before MPI starts.",
			library("A path in the container is loaded before mpi4py; of a file name the copy is meant that mpi4py loaded."))},
		key{name: "binding", shape: choice("When the functions of extension modules are looked up: at once or at their first call.", "now", "lazy")},
		key{name: "inject", shape: section("The host's MPI library, which takes the place of the image's, with what it needs of the host.",
			key{name: "from", required: true, shape: pattern(pathWithVariables("The directory of the library; of those that a glob pattern fits, the newest by version."))},
			key{name: "search", shape: listOf("Where else on the host libraries are looked for that it needs.",
				pattern(pathWithVariables("A directory, or a glob pattern of such.")))},
		)},
	)},
	{name: "launcher", shape: section("How jobs are started on the machine.",
		key{name: "prefix", shape: whole(listOf("The launcher, in words, that `mpiimport run` puts in front of a line that begins with an option.",
			word("One word.", `\S`, "a word")))},
		key{name: "variables", shape: section("The variables by which a launcher that mpiimport does not know tells a process its rank.",
			key{name: "rank", required: true, shape: word("The rank in the job.", variablePattern, variableHint)},
			key{name: "size", shape: word("The number of ranks.", variablePattern, variableHint)},
			key{name: "local_size", shape: word("The number of ranks on this node.", variablePattern, variableHint)},
		)},
	)},
	{name: "service", shape: section("Options of the import service; each becomes the variable MPIIMPORT_NAME.",
		key{name: "store", shape: pathWithVariables("The directory, in the container, under which the store of a node is made.")},
		key{name: "store_size", shape: word("The most that the store may take: a size, or a share of what its file system has free and, in memory, the job's limit leaves.",
			`^([1-9][0-9]*(MiB|GiB|TiB)|([1-9][0-9]?|100)%)$`, "a size such as 4GiB or 512MiB, or a share such as 50%")},
		key{name: "cache", shape: choice("Whether a store is kept on a node for later processes of a program, filled by the first that finds none, or by a session.", "never", "auto", "session")},
		key{name: "cache_on", shape: listOf("Types of file systems on which no file changes without the times of its inode, so that what lies there may be kept, too.",
			word("A type, as mount(8) calls it.", `^[A-Za-z0-9_.+-]+$`, "the type of a file system, such as fuse.dfuse"))},
		key{name: "snapshot", shape: &shape{kind: truth, description: "Whether a program starts from the snapshot that was prepared of it, where there is one."}},
		key{name: "prepare", shape: choice("Whether a job has a snapshot made beside it, for later jobs: where one that was prepared no longer fits, also where it finds none, or not at all.", "renew", "auto", "never")},
		key{name: "snapshot_hash_seeds", shape: choice("The seeds of hash tables in libraries: those of the snapshot, or each process's own.", "kept", "fresh")},
		key{name: "serve", shape: choice("What ranks take from the store: what they import, or listings of directories alone, with which they read each file themselves.",
			"all", "listings")},
		key{name: "libraries", shape: choice("Where ranks load shared libraries from: a copy in the store, where they lie, or a copy unless one node reads its own file system.",
			"auto", "stage", "direct")},
		key{name: "direct", shape: listOf("Libraries that are loaded from where they lie in any case.",
			word("The name of a file, or of a directory with all below it; a * at its end stands for any rest.", `^[^/:,*"'\\\n]+\*?$`,
				"the name of a file or directory, such as torch or libopenblas*"))},
		key{name: "breadth", shape: choice("What is read before anything is learned: what the imports lead to, as much of it as pays with so many nodes, or the packages they reach as a whole.",
			"auto", "closure", "package")},
		key{name: "leave_alone", shape: listOf("Modules and packages that are imported the ordinary way.",
			word("The name of a module or package; what is in it is meant, too.", modulePattern, "the name of a module, such as torch or scipy.io"))},
		key{name: "deadline", shape: count("Seconds after which an activation that has not finished is given up.")},
		key{name: "readers", shape: count("How many files root reads at the same time.")},
		key{name: "thread_level", shape: choice("The thread level that MPI is initialised with; auto is the one that the program asks for.", "auto", "single", "funneled", "serialized", "multiple")},
		key{name: "init", shape: choice("How MPI is started: MPI_Init, or not at all. Write 'off' in quotes.", "world", "off")},
	)},
	{name: "container", shape: section("How containers are started.",
		key{name: "options", shape: listOf("Options that are added to the container runtime's own; Apptainer and SingularityCE only.",
			withVariables(word("A long option with its value, if any, in the same word.", `^--[a-z0-9][a-z0-9-]*(=.*)?$`, "--option or --option=value"),
				`^--[a-z0-9][a-z0-9-]*(=`+anyOf(optionCharacter)+`*)?$`))},
		key{name: "per_node", shape: &shape{kind: truth, description: "Whether all ranks of a node share one container."}},
	)},
	{name: "snapshot", shape: section("How `mpiimport run` brings snapshots to the memory of a large job's nodes.",
		key{name: "broadcast", shape: command("The command that sends the file {file} to the path {to} of every node, or off. Write 'off' in quotes.")},
		key{name: "remove", shape: command("The command that removes what was sent, {to}, from every node.")},
		key{name: "nodes", shape: count("Of how many nodes a job is to which it is sent, at least.")},
	)},
}

var profileShape = section("A site profile of mpiimport: what a machine or an MPI needs when a container is started.",
	append(append([]key{}, identity...), append(sections, key{name: "lock", shape: listOf(
		"Keys that no profile which extends or masks this one, and no variable of the caller, may change.",
		word("A section, a key in it, or environment.set.NAME for the variable NAME, however it is changed.", lockPattern(),
			"a section, SECTION.KEY or environment.set.NAME"))})...)...)

// lockPattern allows what can be locked: a variable's name stands for all that can be done to the variable.
func lockPattern() string {
	alternatives := []string{}
	for _, k := range sections {
		keys := []string{}
		for _, inner := range k.shape.keys {
			keys = append(keys, inner.name)
		}
		switch {
		case k.name == "user_namespace":
		case k.name == "environment":
			alternatives = append(alternatives, `environment(\.set\.[A-Za-z_][A-Za-z0-9_]*)?`)
		case len(keys) > 0:
			alternatives = append(alternatives, k.name+`(\.(`+strings.Join(keys, "|")+`))?`)
		default:
			alternatives = append(alternatives, k.name)
		}
	}
	return "^(" + strings.Join(alternatives, "|") + ")$"
}
