/*
 * A doubly linked list through links that live inside its elements. Nothing is allocated; an element is on
 * one list per link, or on none.
 */
#ifndef RL_BASE_LIST_H
#define RL_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_link {
    struct rl_link *next, *previous; /* NULL while on no list */
};

/* A list is a link whose neighbours are the first and the last element. */
struct rl_list {
    struct rl_link head;
};

#define RL_CONTAINER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void rl_list_init(struct rl_list *list)
{
    list->head.next = list->head.previous = &list->head;
}

static inline bool rl_list_empty(const struct rl_list *list)
{
    return list->head.next == &list->head;
}

static inline bool rl_link_used(const struct rl_link *link)
{
    return link->next != NULL;
}

static inline void rl_list_append(struct rl_list *list, struct rl_link *link)
{
    link->next = &list->head;
    link->previous = list->head.previous;
    list->head.previous->next = link;
    list->head.previous = link;
}

static inline void rl_list_remove(struct rl_link *link)
{
    if (link->next == NULL)
        return;
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->next = link->previous = NULL;
}

/* Moves all elements of one list to the end of another. */
static inline void rl_list_move_all(struct rl_list *to, struct rl_list *from)
{
    if (rl_list_empty(from))
        return;
    from->head.next->previous = to->head.previous;
    to->head.previous->next = from->head.next;
    from->head.previous->next = &to->head;
    to->head.previous = from->head.previous;
    rl_list_init(from);
}

/* The first element's link, NULL when there is none. */
static inline struct rl_link *rl_list_first(struct rl_list *list)
{
    return rl_list_empty(list) ? NULL : list->head.next;
}

/* The same of a list that is not empty; it goes behind all others. */
static inline struct rl_link *rl_list_turn(struct rl_list *list)
{
    struct rl_link *link = list->head.next;

    rl_list_remove(link);
    rl_list_append(list, link);
    return link;
}

/* The one after it, NULL at the end. */
static inline struct rl_link *rl_list_next(struct rl_list *list, const struct rl_link *link)
{
    return link->next == &list->head ? NULL : link->next;
}

static inline uint32_t rl_list_length(struct rl_list *list)
{
    uint32_t count = 0;

    for (struct rl_link *link = rl_list_first(list); link != NULL; link = rl_list_next(list, link))
        count++;
    return count;
}

#endif
