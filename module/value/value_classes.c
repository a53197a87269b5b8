/* The classes and observers that load.c registers, and the keys that are reserved for a class. See value.h. */
#include <string.h>

#include "value.h"

#define NUMBER_DIGITS 8 /* of a reserved key in a cluster */

static const struct value_class *const *classes;
static const struct value_observer *const *observers;

void value_register(const struct value_class *const *all_classes, const struct value_observer *const *all_observers)
{
    classes = all_classes;
    observers = all_observers;
}

const struct value_class *value_class_of(uint8_t code)
{
    for (size_t i = 0; classes[i]; i++)
        if (classes[i]->code == code)
            return classes[i];
    return NULL;
}

/* ---- observers --------------------------------------------------------------------------------------------------- */

void value_note_unlinked(struct value *value, const RedisModuleString *key, int database)
{
    for (size_t i = 0; observers[i]; i++)
        if (observers[i]->unlinked)
            observers[i]->unlinked(value, key, database);
}

void value_note_saved(struct value *value)
{
    for (size_t i = 0; observers[i]; i++)
        if (observers[i]->saved)
            observers[i]->saved(value);
}

void value_note_freed(struct value *value)
{
    for (size_t i = 0; observers[i]; i++)
        if (observers[i]->freed)
            observers[i]->freed(value);
}

bool value_is_pinned(const struct value *value)
{
    for (size_t i = 0; observers[i]; i++)
        if (observers[i]->pins && observers[i]->pins(value))
            return true;
    return false;
}

/* ---- reserved keys ----------------------------------------------------------------------------------------------- */

bool is_reserved_for(const RedisModuleString *key, const char *base)
{
    size_t size, begin = strlen(base), tag;
    const char *text = RedisModule_StringPtrLen(key, &size); /* ends in 0 */
    if (size < begin || memcmp(text, base, begin) != 0 || strlen(text) != size)
        return false;
    if (size == begin || strncmp(text + begin, ":{", 2) != 0)
        return size == begin;
    text += begin + 2;
    tag = strspn(text, "0123456789");
    return tag > 0 && strncmp(text + tag, "}:", 2) == 0 &&
           strspn(text + tag + 2, "0123456789abcdef") == NUMBER_DIGITS && text[tag + 2 + NUMBER_DIGITS] == '\0';
}

bool is_reserved_key(const RedisModuleString *key)
{
    return !value_class_may_be_at(NULL, key);
}

bool value_class_may_be_at(const struct value_class *class, const RedisModuleString *key)
{
    for (size_t i = 0; classes[i]; i++)
        if (classes[i]->reserved && is_reserved_for(key, classes[i]->reserved) != (classes[i] == class))
            return false;
    return true;
}

bool value_may_be_at(const struct value *value, const RedisModuleString *key)
{
    return value_class_may_be_at(value->class, key) && (!value->class->fits || value->class->fits(value, key));
}
