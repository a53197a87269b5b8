/*
 * A fork copies every object. The library makes the copy a replica of its own before it changes (roost/filter.h,
 * Forks). What is left is what the library cannot know. An object
 *
 *     with a file            is for reading. The file, its lock, and what was not saved are the parent's: where there
 *                            is such a change, no state leaves the object, since the parent may lose the change, and
 *                            use its dot for another one
 *     in an exchange         leaves it: the peer speaks with the parent
 *     that another thread    is closed: that thread does not exist in the child, and has left it half changed. Its
 *     was changing           memory is lost, for the same reason
 *
 * Locks of threads that do not exist here are forgotten.
 */
#include "fork.h"

#include "replica.h"

/* The child's descriptors are closed, and the parent alone has the lock. */
static void leave_file(struct replica *self)
{
    self->filter = roost_file_take_filter(self->file);
    roost_file_free(self->file);
    self->file = NULL;
    self->unsaved = self->changed;
    self->changed = false;
    self->inherited = !self->read_only;
    self->read_only = true;
}

static void lose(struct replica *self)
{
    for (struct exchange *each = self->exchanges; each; each = each->next)
        each->sync = NULL;
    self->filter = NULL;
    self->file = NULL;
}

static void inherit(struct replica *self)
{
    if (access_forget(&self->access)) {
        lose(self);
        return;
    }
    replica_abandon(self);
    if (self->file)
        leave_file(self);
}

PyObject *fork_inherit(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    for (struct replica *each = replica_first(); each; each = each->next)
        inherit(each);
    Py_RETURN_NONE;
}
