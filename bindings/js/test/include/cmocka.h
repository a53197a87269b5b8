/* For tests of the library that run as WebAssembly, where there is no cmocka: a check that fails says where, and traps. */
#ifndef TEST_CMOCKA_H
#define TEST_CMOCKA_H

#include <stdio.h>
#include <string.h>

#define check(holds, text)                                                                                             \
    ((holds) ? (void)0 : (printf("%s:%d: %s\n", __FILE__, __LINE__, text), fflush(stdout), __builtin_trap()))
#define assert_true(condition)          check(condition, #condition)
#define assert_false(condition)         check(!(condition), "not " #condition)
#define assert_int_equal(a, b)          check((unsigned long long)(a) == (unsigned long long)(b), #a " == " #b)
#define assert_ptr_equal(a, b)          check((a) == (b), #a " == " #b)
#define assert_non_null(pointer)        check((pointer) != NULL, #pointer)
#define assert_in_range(a, least, most) check((a) >= (least) && (a) <= (most), #a)
#define assert_memory_equal(a, b, size) check(memcmp(a, b, size) == 0, #a " == " #b)
#define skip()                          return

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function)                                                                                     \
    {                                                                                                                  \
#function, function                                                                                            \
    }
#define cmocka_run_group_tests(tests, setup, teardown) run_tests(tests, sizeof(tests) / sizeof *(tests))

static inline int run_tests(const struct CMUnitTest *tests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tests[i].run(NULL);
        printf("ok %s\n", tests[i].name);
    }
    return 0;
}

#endif
