/* PREFIX/bin/mpiimport-restore FILE PROGRAM [ARGUMENTS]: this process becomes the interpreter of which FILE is an image.
 * PROGRAM is a script, or -m MODULE. PREFIX/bin/python-mpi leads here, too: see command.c. */
#include "begin.h"
#include "command.h"
#include "fresh.h"
#include "image.h"
#include "kernel.h"
#include "key.h"
#include "launch_validation.h"
#include "replace.h"
#include "process.h"
#include "sent.h"
#include "tables.h"
#include "text.h"

#include <elf.h>
#include <linux/prctl.h>
#include <sys/mman.h>

/* The stack that the kernel gave goes away: this is another. */
static char own_stack[1 << 18] __attribute__((aligned(16)));
ENTER;

static word texts_begin, words_end, variables_end, texts_end;

static char *copied(const char *text) {
    char *to = (char *)texts_end;
    word size = length(text) + 1;
    memcpy(to, text, size);
    texts_end += size;
    return to;
}

static word size_of(char **texts, word *count) {
    word size = 0;
    for (*count = 0; texts[*count]; ++*count)
        size += length(texts[*count]) + 1;
    return size;
}

/* A command, the program's words being among those that are kept already. */
static char **keep_command(char **at, struct command command, char **program) {
    char **kept = at;
    for (word i = 0; i < command.own; i++)
        *at++ = copied(command.words[i]);
    while ((*at++ = *program++))
        ;
    return kept;
}

/* Words and variables are kept where nothing of the image lies, the words being those of plain Python. */
static struct begin *keep_words(void) {
    const word *own = (const word *)((const char *)image + image->words.at);
    word given_count, variable_count, own_count = image->words.count;
    word size = size_of(given, &given_count) + size_of(variables, &variable_count);
    word pointers = own_count + given_count + variable_count + 2;
    for (word i = 0; i < own_count; i++)
        size += length(text_at(own[i])) + 1;
    struct command command = with_base.words ? with_base : plain;
    for (word i = 0; i < command.own; i++)
        size += length(command.words[i]) + 1;
    pointers += command.own + given_count + 1;
    word head = sizeof(struct begin) + pointers * sizeof(char *);
    size = paged(size + head);
    if (kernel6(__NR_mmap, BLOCK, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0UL,
                0) != (long)BLOCK)
        fresh("there is no memory", "");
    struct begin *block = (struct begin *)BLOCK;
    char **at = (char **)(block + 1), **first = at;
    texts_begin = texts_end = BLOCK + head;
    block->count = own_count + given_count;
    block->quiet = quiet || (with_base.words && !is_verbose());
    for (word i = 0; i < own_count; i++)
        *at++ = copied(text_at(own[i]));
    for (word i = 0; i < given_count; i++)
        *at++ = copied(given[i]);
    at++;
    words_end = texts_end;
    block->variables = at;
    /* What was validated, and sent, counts for this start alone. */
    for (word i = 0; i < variable_count; i++)
        if (!begins(variables[i], VALIDATED "=") && !begins(variables[i], SENT "="))
            *at++ = copied(variables[i]);
    at++;
    variables_end = texts_end;
    block->plain = command.words ? keep_command(at, command, first + own_count) : first;
    in_doubt = block->plain;
    variables = block->variables;
    return block;
}

/* prctl(2), PR_SET_MM_MAP: the break goes on where the image's malloc left it, and ps shows the words of Python. */
static void tell_kernel_of_memory(const char *name) {
    const struct memory *from = &image->memory;
    struct prctl_mm_map map = {
        .start_code = from->start_code,
        .end_code = from->end_code,
        .start_data = from->start_data,
        .end_data = from->end_data,
        .start_brk = from->start_brk,
        .brk = from->brk,
        .start_stack = from->start_stack,
        .arg_start = texts_begin,
        .arg_end = words_end,
        .env_start = words_end,
        .env_end = variables_end,
        .exe_fd = ~0U,
    };
    if (kernel5(__NR_prctl, PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0))
        fresh("the kernel does not take its break (PR_SET_MM_MAP)", "");
    for (const char *each = name; *each; each++)
        if (*each == '/')
            name = each + 1;
    kernel3(__NR_prctl, PR_SET_NAME, name, 0);
}

/* A signal that whoever launched us has ignored stays so, as plain Python leaves it. */
static void set_signals(void) {
    for (word i = 0; i < image->signals.count; i++) {
        const struct handler *each = &TABLE(handler, signals)[i];
        if (!(ignored_signals >> (each->number - 1) & 1))
            kernel4(__NR_rt_sigaction, each->number, &each->function, 0, 8);
    }
    if (image->thread.altstack[2])
        kernel3(__NR_sigaltstack, image->thread.altstack, 0, 0);
}

static void set_thread(void) {
    const struct thread *thread = &image->thread;
    long failed = set_thread_pointer(thread->pointer);
    *(int *)thread->tid = (int)kernel3(__NR_set_tid_address, thread->tid, 0, 0);
    failed |= kernel3(__NR_set_robust_list, thread->robust, thread->robust_size, 0);
    if (thread->rseq_size)
        failed |= kernel4(__NR_rseq, thread->rseq, 32, 0, thread->rseq_signature);
    if (failed)
        fresh("the kernel does not take its thread", "");
}

static word auxiliary(const Elf64_auxv_t *each, word type) {
    for (; each->a_type; each++)
        if (each->a_type == type)
            return each->a_un.a_val;
    return 0;
}

/* SCRIPT, -m MODULE or -mMODULE. */
static int is_program(void) {
    const char *word = given[0];
    return word && (word[0] != '-' || (word[1] == 'm' && (word[2] || given[1])));
}

__attribute__((noreturn)) static void start(word *stack) {
    char **arguments = (char **)(stack + 1), **end;
    variables = arguments + stack[0] + 1;
    for (end = variables; *end; end++)
        ;
    const Elf64_auxv_t *vector = (const Elf64_auxv_t *)(end + 1);
    page = auxiliary(vector, AT_PAGESZ);
    read_command(stack[0], arguments);
    if (auxiliary(vector, AT_SECURE))
        fresh("this process has more rights than its user", "");
    if (!is_program())
        fresh("only a script starts from one, and a module (-m)", "");
    if (key)
        /* Which file it is depends on the machine. */
        look_at_process(), find_variant();
    open_image();
    if (validates)
        validate_for_job();
    if (!key)
        look_at_process();
    check_vdso();
    compare_key();
    if (sign_no_addresses())
        fresh("the kernel cannot leave return addresses unsigned (PR_PAC_SET_ENABLED_KEYS)", "");
    struct begin *block = keep_words();
    replace_process();
    tell_kernel_of_memory(*(char **)(block + 1));
    set_thread();
    set_signals();
    close_files();
    word code = image->thread.code, own = image->thread.stack;
    kernel3(__NR_munmap, TABLES, paged(image->tables_end), 0);
    go_on(code, own, block);
}

__attribute__((noreturn, used)) void begin(word *stack) {
    go_on((word)start, (word)(own_stack + sizeof own_stack), stack);
}
