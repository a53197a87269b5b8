/* Numbers and indexes of actors, beside plain arrays, and every allocation refused once. */
#include "meter.h"

#include "causal/actors.h"

static roost_allocator plain_allocator(void)
{
    return allocator_or_default((roost_allocator){0});
}

static void numbers_stay(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(test_seed(14));
    static uint64_t ids[MANY];
    struct actors actors, copy;
    actors_init(&actors, 16);
    assert_true(actors_check(&actors));
    assert_int_equal(actors_find(&actors, 1), NO_ACTOR);
    for (uint32_t number = 0; number < MANY; number++) {
        /* Drawn at random, and in a row. */
        ids[number] = number % 2 ? random_next(&random) | 1 : (uint64_t)(number + 1) << 33;
        assert_int_equal(actors_find(&actors, ids[number]), NO_ACTOR);
        assert_int_equal(actors_number(&actors, ids[number], &allocator), number);
        uint32_t earlier = random_choice(&random, number + 1);
        assert_int_equal(actors_find(&actors, ids[earlier]), earlier);
        assert_int_equal(actors_number(&actors, ids[earlier], &allocator), earlier);
    }
    assert_int_equal(actors.count, MANY);
    assert_true(actors_check(&actors));
    assert_true(actors_copy(&copy, &actors, &allocator));
    assert_true(actors_check(&copy));
    assert_int_equal(actors_bytes(&copy), actors_bytes(&actors));
    assert_true(actors_bytes(&actors) >= MANY * (sizeof(struct actor) + 8));
    for (uint32_t number = 0; number < MANY; number++)
        assert_int_equal(actors_find(&copy, ids[number]), number);
    actors_release(&copy, &allocator);
    actors_release(&actors, &allocator);
    assert_true(actors_check(&actors));
    assert_int_equal(actors_bytes(&actors), 0);
}

/* What the hand should do, told with a plain array of owners. */
struct index_model {
    uint32_t owner[16], given, hand, entries[64];
};

static uint32_t index_in_model(const struct index_model *model, uint32_t number)
{
    for (uint32_t index = 0; index < model->given; index++)
        if (model->owner[index] == number)
            return index;
    return NO_INDEX;
}

static uint32_t model_index(struct index_model *model, uint32_t indexes, uint32_t number)
{
    uint32_t index = index_in_model(model, number);
    if (index != NO_INDEX)
        return index;
    if (model->given < indexes) {
        model->owner[model->given] = number;
        return model->given++;
    }
    for (uint32_t looked_at = 0; looked_at < indexes; looked_at++) {
        index = (model->hand + looked_at) % indexes;
        if (model->entries[model->owner[index]] == 0) {
            model->owner[index] = number;
            model->hand = (index + 1) % indexes;
            return index;
        }
    }
    return NO_INDEX;
}

static void indexes_go_round(uint32_t indexes, uint32_t numbers, uint64_t seed)
{
    roost_allocator allocator = plain_allocator();
    struct random_source random = random_from_seed(seed);
    struct index_model model = {.given = 0};
    struct actors actors;
    unsigned refused = 0, reused = 0;
    actors_init(&actors, indexes);
    for (uint32_t number = 0; number < numbers; number++)
        assert_int_equal(actors_number(&actors, number + 1000, &allocator), number);
    for (int step = 0; step < 20000; step++) {
        uint32_t number = random_choice(&random, numbers);
        bool filling = step / 100 % 2; /* the tide comes and goes, so that all are busy at times */
        if (random_choice(&random, 4) < (filling ? 3 : 1)) {
            bool was_full = model.given == indexes && index_in_model(&model, number) == NO_INDEX;
            uint32_t index = actors_index(&actors, number, &allocator);
            assert_int_equal(index, model_index(&model, indexes, number));
            refused += index == NO_INDEX;
            reused += was_full && index != NO_INDEX;
            if (index != NO_INDEX) {
                actors_entered_slot(&actors, number);
                model.entries[number]++;
            }
        } else {
            for (; model.entries[number] > 0; model.entries[number]--)
                actors_left_slot(&actors, number);
        }
        assert_true(actors_check(&actors));
        for (uint32_t other = 0; other < numbers; other++)
            assert_int_equal(actors.list[other].index, index_in_model(&model, other));
    }
    printf("%u indexes: %u refused, %u reused\n", indexes, refused, reused);
    assert_true(refused > 100 && reused > 100);
    actors_release(&actors, &allocator);
}

static void idle_indexes_are_reused(void **state)
{
    (void)state;
    uint64_t seed = test_seed(15);
    indexes_go_round(4, 12, seed);
    indexes_go_round(16, 40, seed);
    indexes_go_round(1, 3, seed);
}

static void there_is_no_index_when_all_are_busy(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct actors actors;
    actors_init(&actors, 4);
    for (uint32_t number = 0; number < 5; number++) {
        assert_int_equal(actors_number(&actors, number + 1, &allocator), number);
        uint32_t expected = number < 4 ? number : NO_INDEX;
        assert_int_equal(actors_index(&actors, number, &allocator), expected);
        if (number < 4)
            actors_entered_slot(&actors, number);
    }
    actors_left_slot(&actors, 2);
    assert_int_equal(actors_index(&actors, 2, &allocator), 2); /* still its own */
    assert_int_equal(actors_index(&actors, 4, &allocator), 2);
    assert_int_equal(actors.list[2].index, NO_INDEX);
    assert_true(actors_check(&actors));
    actors_release(&actors, &allocator);

    actors_init(&actors, 0);
    assert_int_equal(actors_number(&actors, 7, &allocator), 0);
    assert_int_equal(actors_index(&actors, 0, &allocator), NO_INDEX);
    assert_true(actors_check(&actors));
    actors_release(&actors, &allocator);
}

static void a_copy_of_actors_goes_its_own_way(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    struct actors actors, copy;
    actors_init(&actors, 4);
    assert_true(actors_copy(&copy, &actors, &allocator));
    assert_true(actors_check(&copy));
    actors_release(&copy, &allocator);
    for (uint32_t number = 0; number < 9; number++) {
        assert_int_equal(actors_number(&actors, number + 1, &allocator), number);
        if (actors_index(&actors, number, &allocator) != NO_INDEX && number % 2)
            actors_entered_slot(&actors, number);
    }
    assert_true(actors_copy(&copy, &actors, &allocator));
    assert_true(actors_check(&copy));
    assert_memory_equal(copy.list, actors.list, 9 * sizeof *copy.list);
    assert_int_equal(copy.hand, actors.hand);
    assert_int_equal(actors_number(&copy, 100, &allocator), 9);
    assert_int_equal(actors_find(&actors, 100), NO_ACTOR);
    actors_release(&copy, &allocator);
    assert_true(actors_check(&actors));
    actors_release(&actors, &allocator);
}

/* Five actors and four indexes: 0 and 1 are busy, the index of 2 went to 4, and 3 is idle. */
static void actors_scene(struct actors *actors, const roost_allocator *allocator)
{
    actors_init(actors, 4);
    for (uint32_t number = 0; number < 5; number++) {
        assert_int_equal(actors_number(actors, 100 + number, allocator), number);
        if (number == 4)
            actors_left_slot(actors, 2);
        assert_true(actors_index(actors, number, allocator) != NO_INDEX);
        if (number < 3)
            actors_entered_slot(actors, number);
    }
    assert_int_equal(actors->list[2].index, NO_INDEX);
    assert_int_equal(actors->list[4].index, 2);
}

static void spoil(struct actors *actors, unsigned way)
{
    uint32_t *place = actors->map;
    while (*place != 3)
        place++;
    switch (way) {
    case 0: /* an actor that is none */
        actors->list[1].id = 0;
        break;
    case 1: /* an actor that the map does not have under its id; the salt may let the first ones meet its place */
        for (uint64_t id = 77; actors_find(actors, actors->list[1].id) == 1; id++)
            actors->list[1].id = id;
        break;
    case 2: /* one twice */
        actors->list[1].id = actors->list[0].id;
        break;
    case 3: /* lost from the map */
        *place = 0;
        break;
    case 4: /* twice in the map */
        for (place = actors->map; *place;)
            place++;
        *place = 1;
        break;
    case 5: /* entries in slots, and no index for them */
        actors->list[2].in_slots = 1;
        actors->busy++;
        break;
    case 6: /* two with one index */
        actors->list[2].index = 2;
        break;
    case 7: /* an index that was never given */
        actors->list[2].index = 4;
        break;
    case 8: /* an index of nobody */
        actors->list[3].index = NO_INDEX;
        break;
    case 9:
        actors->number_of_index[3] = 5;
        break;
    case 10:
        actors->busy++;
        break;
    case 11: /* more indexes than there may be */
        actors->indexes = 3;
        break;
    case 12:
        actors->hand = 4;
        break;
    case 13:
        actors->given_room = 3;
        break;
    case 14:
        actors->map_room /= 2;
        break;
    default:
        actors->room = 4;
    }
}

static void a_check_of_actors_finds_what_is_wrong(void **state)
{
    (void)state;
    roost_allocator allocator = plain_allocator();
    for (unsigned way = 0; way <= 15; way++) {
        struct actors actors;
        actors_scene(&actors, &allocator);
        assert_true(actors_check(&actors));
        spoil(&actors, way);
        assert_false(actors_check(&actors));
        actors_release(&actors, &allocator);
    }
}

/* ---- every allocation fails once --------------------------------------------------------------------------------- */

/* All arrays are full, so that one more of anything needs room. */
struct scene {
    struct meter meter;
    roost_allocator allocator;
    struct actors actors;
};

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    scene->allocator = allocator_of(&scene->meter);
    actors_init(&scene->actors, 1000);
    for (uint32_t number = 0; number < 64; number++) {
        assert_int_equal(actors_number(&scene->actors, number + 1, &scene->allocator), number);
        if (number < 32)
            assert_int_equal(actors_index(&scene->actors, number, &scene->allocator), number);
    }
    assert_int_equal(scene->actors.room, scene->actors.count);
    assert_int_equal(scene->actors.given_room, scene->actors.given);
}

static void scene_close(struct scene *scene)
{
    scene->meter.allowed = -1;
    actors_release(&scene->actors, &scene->allocator);
    assert_int_equal(scene->meter.outstanding, 0);
}

/* Each does one thing and answers whether it could. */
typedef bool actors_call(struct scene *scene);

static bool call_number(struct scene *scene)
{
    return actors_number(&scene->actors, 1000, &scene->allocator) != NO_ACTOR;
}

static bool call_index(struct scene *scene)
{
    return actors_index(&scene->actors, 50, &scene->allocator) != NO_INDEX;
}

static bool call_copy_actors(struct scene *scene)
{
    struct actors copy;
    bool done = actors_copy(&copy, &scene->actors, &scene->allocator);
    assert_true(actors_check(&copy));
    assert_int_equal(copy.count, done ? scene->actors.count : 0);
    actors_release(&copy, &scene->allocator);
    return done;
}

/* Down to the addresses of the arrays. */
static void assert_unchanged(const struct actors *actors, const struct actors *before, const struct actors *copy)
{
    assert_memory_equal(actors, before, sizeof *actors);
    assert_memory_equal(actors->list, copy->list, copy->count * sizeof *copy->list);
    assert_memory_equal(actors->number_of_index, copy->number_of_index, copy->given * sizeof *copy->number_of_index);
}

static unsigned fail_each_allocation(actors_call *call)
{
    roost_allocator unmetered = plain_allocator();
    unsigned failures = 0;
    for (bool done = false; !done; failures += !done) {
        struct scene scene, before;
        struct actors copy;
        scene_open(&scene);
        before = scene;
        assert_true(actors_copy(&copy, &scene.actors, &unmetered));
        scene.meter.allowed = failures;
        done = call(&scene);
        assert_int_equal(scene.meter.failures, !done);
        if (!done)
            assert_unchanged(&scene.actors, &before.actors, &copy);
        assert_true(actors_check(&scene.actors));
        actors_release(&copy, &unmetered);
        scene_close(&scene);
        assert_true(failures < 100);
    }
    return failures;
}

static void a_refused_allocation_changes_nothing(void **state)
{
    (void)state;
    actors_call *calls[] = {call_number, call_index, call_copy_actors};
    for (size_t i = 0; i < COUNT_OF(calls); i++)
        assert_true(fail_each_allocation(calls[i]) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay),
        cmocka_unit_test(idle_indexes_are_reused),
        cmocka_unit_test(there_is_no_index_when_all_are_busy),
        cmocka_unit_test(a_copy_of_actors_goes_its_own_way),
        cmocka_unit_test(a_check_of_actors_finds_what_is_wrong),
        cmocka_unit_test(a_refused_allocation_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
