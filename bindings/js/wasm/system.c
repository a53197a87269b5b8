/*
 * What the C library would ask of an operating system. There is none: random numbers come from JavaScript
 * (crypto.getRandomValues), and what cannot go on traps. So the module imports nothing but its memory and `random`.
 */
#include <stddef.h>
#include <stdint.h>

__attribute__((import_module("roost"), import_name("random"))) int32_t roost_random(void *bytes, size_t size);

int getentropy(void *bytes, size_t size)
{
    return roost_random(bytes, size) ? 0 : -1;
}

_Noreturn void abort(void)
{
    __builtin_trap();
}

/* JavaScript has these; those of the C library bring 13 kB of tables. Nothing that is encoded depends on them: sizes are
   computed in integers. */
#define FROM_MATH(name) __attribute__((import_module("math"), import_name(#name))) double math_##name
FROM_MATH(exp)(double);
FROM_MATH(expm1)(double);
FROM_MATH(log)(double);
FROM_MATH(log1p)(double);
FROM_MATH(log2)(double);
FROM_MATH(pow)(double, double);

double exp(double x)
{
    return math_exp(x);
}
double expm1(double x)
{
    return math_expm1(x);
}
double log(double x)
{
    return math_log(x);
}
double log1p(double x)
{
    return math_log1p(x);
}
double log2(double x)
{
    return math_log2(x);
}
double pow(double x, double y)
{
    return math_pow(x, y);
}
