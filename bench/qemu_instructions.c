/*
 * A plugin of qemu-user that counts the instructions of a program, for bench/kernel_instructions. Debian has no package
 * with qemu-plugin.h, so what is used of it is declared here: the interface of version 1.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct qemu_plugin_tb; /* instructions that are translated together, and run from the first to the last */
enum { ADD_NUMBER };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*call)(uint64_t id, struct qemu_plugin_tb *block));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int action, void *to, uint64_t number);
void qemu_plugin_register_atexit_cb(uint64_t id, void (*call)(uint64_t id, void *data), void *data);
int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments);

int qemu_plugin_version = 1;
static uint64_t instructions;

static void count_block(uint64_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_NUMBER, &instructions, qemu_plugin_tb_n_insns(block));
}

static void report(uint64_t id, void *data)
{
    (void)id;
    (void)data;
    fprintf(stderr, "Collected : %" PRIu64 "\n", instructions);
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments)
{
    (void)info;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_block);
    qemu_plugin_register_atexit_cb(id, report, NULL);
    return 0;
}
