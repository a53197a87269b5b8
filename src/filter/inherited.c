#include "inherited.h"

#include "journal_policy.h"

void forget_inherited(roost_filter *filter)
{
    if (filter->kind->replica.forget)
        filter->kind->replica.forget(filter);
    release_journal(filter);
    filter->process = process_number;
}
