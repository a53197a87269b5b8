/*
 * A fork copies every object. The library makes the copy a replica of its own before it changes (roost/filter.h,
 * Forks). What is left is what the library cannot know:
 *
 *     object with a file      is for reading. The file, its lock, and what was not saved are the parent's
 *     exchange                ends: the peer speaks with the parent
 *     object that a thread    is closed: that thread does not exist here, and has left it half changed. Its memory is
 *     of the parent was       lost, for the same reason
 *     changing
 *
 * Locks of threads that do not exist here are forgotten.
 */
#include "fork.h"

#include "sync.h"

static struct replica *replicas;

void fork_link(struct replica *self)
{
    self->next = replicas;
    if (replicas)
        replicas->previous = self;
    replicas = self;
}

void fork_unlink(struct replica *self)
{
    if (self->previous)
        self->previous->next = self->next;
    else
        replicas = self->next;
    if (self->next)
        self->next->previous = self->previous;
}

/* The child's descriptors are closed, and the parent alone has the lock. */
static void leave_file(struct replica *self)
{
    self->filter = roost_file_take_filter(self->file);
    roost_file_free(self->file);
    self->file = NULL;
    self->changed = false;
    self->inherited = !self->read_only;
    self->read_only = true;
}

static void inherit(struct replica *self)
{
    if (access_forget(&self->access)) {
        sync_lose(self);
        self->filter = NULL;
        self->file = NULL;
        return;
    }
    sync_abandon(self); /* the peer speaks with the parent */
    if (self->file)
        leave_file(self);
}

PyObject *fork_inherit(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    for (struct replica *each = replicas; each; each = each->next)
        inherit(each);
    Py_RETURN_NONE;
}
