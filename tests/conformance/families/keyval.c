/* keyval.c: tests key-value records through parallel handles, and through serial and mapped handles, which
 * switch between tasks. */
#include "scenario.h"

#define CUR SION_CURRENT_RANK
#define CBLK SION_CURRENT_BLK
#define CPOS SION_CURRENT_POS
#define ABS SION_ABSOLUTE_POS
#define LARGE -16LL /* key 0xfffffffffffffff0 */

/* Records as key:bytes: 7:10, LARGE:10, 7:200 (more than a chunk), 9:0, 8:3, 7:1. */
static const struct step records[] = {{ALL, MODE, 0, 0, 0, SION_KEYVAL_INLINE, 0},
                                      {ALL, WKEY, 7, 1, 10, 10, 0},
                                      {ALL, WKEY, LARGE, 5, 2, 2, 0},
                                      {ALL, WKEY, 7, 8, 25, 25, 0},
                                      {ALL, WKEY, 9, 1, 0, 0, 0},
                                      {ALL, WKEY, 8, 3, 1, 1, 0},
                                      {ALL, WKEY, 7, 1, 1, 1, 0},
                                      {0, END, 0, 0, 0, 0, 0}};

static const struct step by_key[] = {{ALL, MODE, 0, 0, 0, SION_KEYVAL_INLINE, 0},
                                     {ALL, RKEY, 8, 1, 3, 3, 0},
                                     {ALL, RKEY, 8, 1, 3, 0, 0},
                                     {ALL, RKEY, 7, 1, 4, 4, 0},
                                     {ALL, RKEY, 7, 1, 100, 6, 4},
                                     {ALL, RKEY, 7, 8, 10, 10, 10},
                                     {ALL, RKEY, LARGE, 1, 3, 3, 0},
                                     {ALL, RKEY, 7, 8, 100, 15, 90},
                                     {ALL, RKEY, 7, 1, 100, 1, 210},
                                     {ALL, RKEY, 7, 1, 1, 0, 0},
                                     {ALL, RKEY, LARGE, 4, 9, 1, 3},
                                     {ALL, RKEY, LARGE, 1, 9, 3, 7},
                                     {ALL, RKEY, LARGE, 1, 1, 0, 0},
                                     {ALL, RKEY, 9, 1, 1, 0, 0},
                                     {ALL, RKEY, 1, 1, 1, 0, 0},
                                     {0, END, 0, 0, 0, 0, 0}};

static const struct step by_iterator[] = {
    {ALL, RESET, 0, 0, 0, 1, 0},     {ALL, NEXT, 7, 10, 0, 1, 0},    {ALL, RKEY, 7, 1, 10, 10, 0},
    {ALL, NEXT, LARGE, 10, 0, 1, 0}, {ALL, RKEY, LARGE, 5, 2, 2, 0}, {ALL, NEXT, 7, 200, 0, 1, 0},
    {ALL, RKEY, 7, 200, 1, 1, 10},   {ALL, NEXT, 9, 0, 0, 1, 0},     {ALL, NEXT, 8, 3, 0, 1, 0},
    {ALL, RKEY, 8, 1, 3, 3, 0},      {ALL, NEXT, 7, 1, 0, 1, 0},     {ALL, RKEY, 7, 1, 1, 1, 210},
    {ALL, NEXT, 0, 0, 0, 0, 0},      {ALL, NEXT, 0, 0, 0, 0, 0},     {ALL, RESET, 0, 0, 0, 1, 0},
    {ALL, NEXT, 7, 10, 0, 1, 0},     {ALL, RKEY, 7, 1, 10, 10, 0},   {0, END, 0, 0, 0, 0, 0}};

/* The iterator must set the position of the key that it returns, and skip unread records (addendum of the
 * interface's specification). */
static const struct step iterator_positions[] = {
    {ALL, RESET, 0, 0, 0, 1, 0},     {ALL, NEXT, 7, 10, 0, 1, 0},      {ALL, NEXT, LARGE, 10, 0, 1, 0},
    {ALL, NEXT, 7, 200, 0, 1, 0},    {ALL, RKEY, 7, 1, 200, 200, 10},  {ALL, NEXT, 9, 0, 0, 1, 0},
    {ALL, NEXT, 8, 3, 0, 1, 0},      {ALL, NEXT, 7, 1, 0, 1, 0},       {ALL, RESET, 0, 0, 0, 1, 0},
    {ALL, NEXT, 7, 10, 0, 1, 0},     {ALL, RKEY, 7, 1, 3, 3, 0},       {ALL, RKEY, LARGE, 1, 10, 10, 0},
    {ALL, NEXT, LARGE, 10, 0, 1, 0}, {ALL, RKEY, LARGE, 1, 10, 10, 0}, {ALL, RKEY, 7, 1, 100, 7, 3},
    {ALL, NEXT, 7, 200, 0, 1, 0},    {ALL, RKEY, 7, 1, 5, 5, 10},      {ALL, NEXT, 9, 0, 0, 1, 0},
    {ALL, NEXT, 8, 3, 0, 1, 0},      {ALL, RKEY, 8, 1, 3, 3, 0},       {ALL, RKEY, 7, 1, 5, 5, 15},
    {ALL, NEXT, 7, 1, 0, 1, 0},      {ALL, RKEY, 7, 1, 9, 1, 210},     {ALL, NEXT, 0, 0, 0, 0, 0},
    {0, END, 0, 0, 0, 0, 0}};

static const struct step key_seeks[] = {
    {ALL, SCAN, 0, 0, 0, 1, 0},        {ALL, SEEK_KEY, 7, 1, 5, 1, 0},
    {ALL, RKEY, 7, 1, 4, 4, 15},       {ALL, SEEK_KEY, 7, 0, 0, 1, 0},
    {ALL, RKEY, 7, 1, 99, 10, 0},      {ALL, SEEK_KEY, 7, 2, 0, 1, 0},
    {ALL, RKEY, 7, 1, 9, 1, 210},      {ALL, SEEK_KEY, 7, 0, 9, 1, 0},
    {ALL, RKEY, 7, 1, 9, 1, 9},        {ALL, SEEK_KEY, 7, 0, 10, 0, 0},
    {ALL, SEEK_KEY, 7, 3, 0, 0, 0},    {ALL, SEEK_KEY, 7, 2, 1, 0, 0},
    {ALL, SEEK_KEY, 1, 0, 0, 0, 0},    {ALL, SEEK_KEY, 1, ABS, 0, 0, 0},
    {ALL, SEEK_KEY, 7, 0, CPOS, 0, 0}, {ALL, SEEK_KEY, 7, ABS, 0, 1, 0},
    {ALL, RKEY, 7, 1, 2, 2, 0},        {ALL, SEEK_KEY, 7, ABS, 9, 1, 0},
    {ALL, RKEY, 7, 1, 2, 1, 9},        {ALL, SEEK_KEY, 7, ABS, 10, 1, 0},
    {ALL, RKEY, 7, 1, 2, 2, 10},       {ALL, SEEK_KEY, 7, ABS, 209, 1, 0},
    {ALL, RKEY, 7, 1, 2, 1, 209},      {ALL, SEEK_KEY, 7, ABS, 210, 1, 0},
    {ALL, RKEY, 7, 1, 2, 1, 210},      {ALL, SEEK_KEY, 7, ABS, 211, 0, 0},
    {ALL, SEEK_KEY, 7, 1, 100, 1, 0},  {ALL, SEEK_KEY, 7, CBLK, CPOS, 1, 0},
    {ALL, RKEY, 7, 1, 1, 1, 110},      {ALL, SEEK_KEY, 7, CBLK, 0, 1, 0},
    {ALL, RKEY, 7, 1, 1, 1, 10},       {ALL, SEEK_KEY, 7, CBLK, 199, 1, 0},
    {ALL, RKEY, 7, 1, 9, 1, 209},      {0, END, 0, 0, 0, 0, 0}};

/* When a record has been read to its end, the current record of the key must be the next known record of this
 * key (addendum). */
static const struct step current_block[] = {
    {ALL, SCAN, 0, 0, 0, 1, 0},        {ALL, RKEY, 7, 1, 10, 10, 0},      {ALL, SEEK_KEY, 7, CBLK, 3, 1, 0},
    {ALL, RKEY, 7, 1, 2, 2, 13},       {ALL, SEEK_KEY, 7, CBLK, 0, 1, 0}, {ALL, RKEY, 7, 1, 200, 200, 10},
    {ALL, SEEK_KEY, 7, CBLK, 0, 1, 0}, {ALL, RKEY, 7, 1, 1, 1, 210},      {0, END, 0, 0, 0, 0, 0}};

/* Lists of keys and statistics must cover exactly the records that the reader has found so far. */
static const struct step lists[] = {
    {ALL, SCAN, 0, 0, 0, 1, 0},       {ALL, LIST_RESET, 0, 0, 0, 1, 0}, {ALL, LISTED, 7, 0, 0, 1, 0},
    {ALL, LISTED, LARGE, 0, 0, 1, 0}, {ALL, LISTED, 9, 0, 0, 1, 0},     {ALL, LISTED, 8, 0, 0, 1, 0},
    {ALL, LISTED, 0, 0, 0, 0, 0},     {ALL, LIST_RESET, 0, 0, 0, 1, 0}, {ALL, LISTED, 7, 0, 0, 1, 0},
    {ALL, STAT, 7, 3, 211, 1, 0},     {ALL, STAT, LARGE, 1, 10, 1, 0},  {ALL, STAT, 9, 1, 0, 1, 0},
    {ALL, STAT, 8, 1, 3, 1, 0},       {ALL, STAT, 1, 0, 0, 0, 0},       {ALL, RKEY, 7, 1, 1, 1, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step known_so_far[] = {{ALL, RKEY, 7, 1, 10, 10, 0}, {ALL, STAT, 7, 1, 10, 1, 0},
                                           {ALL, STAT, 8, 0, 0, 0, 0},   {ALL, LIST_RESET, 0, 0, 0, 1, 0},
                                           {ALL, LISTED, 7, 0, 0, 1, 0}, {ALL, LISTED, 0, 0, 0, 0, 0},
                                           {ALL, RKEY, 8, 1, 1, 1, 0},   {ALL, STAT, 7, 2, 210, 1, 0},
                                           {ALL, STAT, 8, 1, 3, 1, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step any_seek[] = {{ALL, RKEY, 7, 1, 4, 4, 0}, {ALL, SEEK, OWN, CBLK, CPOS, 1, 0},
                                       {ALL, RKEY, 7, 1, 4, 4, 4}, {ALL, SEEK, OWN, 55, 9999, 1, 0},
                                       {ALL, RKEY, 7, 1, 4, 2, 8}, {0, END, 0, 0, 0, 0, 0}};

/* A file without keys. */
static const struct step no_keys[] = {{ALL, MODE, 0, 0, 0, SION_KEYVAL_NONE, 0},
                                      {ALL, WKEY, 7, 1, 1, SIZE_MINUS_ONE, 0},
                                      {ALL, WRITTEN, 0, 0, 0, 0, 0},
                                      {ALL, WRITE, 1, 10, 0, 10, 0},
                                      {0, END, 0, 0, 0, 0, 0}};
static const struct step no_keys_back[] = {{ALL, MODE, 0, 0, 0, SION_KEYVAL_NONE, 0},
                                           {ALL, RKEY, 7, 1, 1, 0, 0},
                                           {ALL, READ, 1, 10, 0, 10, 0},
                                           {0, END, 0, 0, 0, 0, 0}};

/* Tasks with different keys, and a task without keys. */
static const struct step uneven[] = {
    {0, WKEY, 1, 1, 5, 5, 0}, {1, WKEY, 2, 1, 6, 6, 0}, {1, WKEY, 1, 1, 7, 7, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step uneven_back[] = {
    {0, RKEY, 2, 1, 5, 0, 0},       {0, RKEY, 1, 1, 9, 5, 0},   {1, RKEY, 1, 1, 9, 7, 0},
    {1, RKEY, 2, 2, 9, 3, 0},       {2, RKEY, 1, 1, 1, 0, 0},   {3, SCAN, 0, 0, 0, 1, 0},
    {3, LIST_RESET, 0, 0, 0, 1, 0}, {3, LISTED, 0, 0, 0, 0, 0}, {2, RESET, 0, 0, 0, 1, 0},
    {2, NEXT, 0, 0, 0, 0, 0},       {3, STAT, 1, 0, 0, 0, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step last_is_empty[] = {
    {ALL, WKEY, 3, 1, 4, 4, 0}, {ALL, WKEY, 4, 1, 0, 0, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step last_is_empty_back[] = {{ALL, RESET, 0, 0, 0, 1, 0}, {ALL, NEXT, 3, 4, 0, 1, 0},
                                                 {ALL, NEXT, 4, 0, 0, 1, 0},  {ALL, NEXT, 0, 0, 0, 0, 0},
                                                 {ALL, RKEY, 3, 1, 4, 4, 0},  {ALL, STAT, 4, 1, 0, 1, 0},
                                                 {0, END, 0, 0, 0, 0, 0}};
/* 110 chunks of 64 bytes. */
static const struct step many_chunks[] = {{ALL, WKEY, 5, 7, 1000, 1000, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step many_chunks_back[] = {
    {ALL, RKEY, 5, 7000, 1, 1, 0}, {ALL, RKEY, 5, 1, 1, 0, 0}, {0, END, 0, 0, 0, 0, 0}};

#define PLAIN NULL, NULL, NULL
#define SIXTY_FOUR \
  { 64, 64, 64, 64, 64, 64 }
#define THESE \
  {SKIP}, { 320, 320, 320, 320, 320, 320 } /* 224 bytes of values, 6 heads of 16 bytes */
static const struct scenario scenarios[] = {
    {"by key, one task", 1, 1, 64, SIXTY_FOUR, "wb,keyval", "rb,keyval", PLAIN, records, by_key, THESE},
    {"by key", 4, 2, 64, SIXTY_FOUR, "wb,keyval=inline", "rb", PLAIN, records, by_key, THESE},
    {"by key, posix", 2, 1, 64, SIXTY_FOUR, "wb,keyval=default,posix", "rb,posix", PLAIN, records, by_key,
     THESE},
    {"keyval without value", 2, 1, 64, SIXTY_FOUR, "wb,keyval=", "rb,keyval=none", PLAIN, records, by_key,
     THESE},
    {"iterator", 2, 1, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, by_iterator, THESE},
    {"iterator, large chunks, posix",
     1,
     1,
     64,
     {999},
     "wb,keyval",
     "rb,posix",
     PLAIN,
     records,
     by_iterator,
     THESE},
    {"positions of the iterator", 2, 2, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, iterator_positions,
     THESE},
    {"seeks by key", 2, 1, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, key_seeks, THESE},
    {"seeks by key, posix", 6, 3, 64, SIXTY_FOUR, "wb,keyval", "rb,posix", PLAIN, records, key_seeks, THESE},
    {"the current record", 1, 1, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, current_block, THESE},
    {"lists and statistics", 2, 1, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, lists, THESE},
    {"known so far", 1, 1, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, known_so_far, THESE},
    {"seeks do not matter", 2, 1, 64, SIXTY_FOUR, "wb,keyval", "rb", PLAIN, records, any_seek, THESE},
    {"no keys", 2, 1, 64, SIXTY_FOUR, "wb", "rb", PLAIN, no_keys, no_keys_back, {SKIP}, {10, 10}},
    {"no keys, though asked for",
     1,
     1,
     64,
     SIXTY_FOUR,
     "wb",
     "rb,keyval",
     PLAIN,
     no_keys,
     no_keys_back,
     {SKIP},
     {10}},
    {"other keys in other tasks",
     4,
     2,
     64,
     SIXTY_FOUR,
     "wb,keyval",
     "rb",
     PLAIN,
     uneven,
     uneven_back,
     {SKIP},
     {21, 45, 0, 0}},
    {"the last record is empty",
     2,
     1,
     64,
     SIXTY_FOUR,
     "wb,keyval",
     "rb",
     PLAIN,
     last_is_empty,
     last_is_empty_back,
     {SKIP},
     {36, 36}},
    {"more than 100 chunks",
     2,
     1,
     64,
     SIXTY_FOUR,
     "wb,keyval",
     "rb",
     PLAIN,
     many_chunks,
     many_chunks_back,
     {SKIP},
     {7016, 7016}},
};

/* Each task of a handle must have its own position in every key. The tasks of the handle are 0, 1 and 2. */
static const struct step three_tasks[] = {
    {ALL, SEEK, 0, CBLK, CPOS, 1, 0}, {ALL, WKEY, 7, 1, 10, 10, 0}, {ALL, SEEK, 2, CBLK, CPOS, 1, 0},
    {ALL, WKEY, 7, 1, 20, 20, 0},     {ALL, WKEY, 8, 4, 2, 2, 0},   {ALL, SEEK, 0, CBLK, CPOS, 1, 0},
    {ALL, WKEY, 8, 1, 3, 3, 0},       {ALL, WKEY, 7, 1, 5, 5, 0},   {ALL, SEEK, 2, CBLK, CPOS, 1, 0},
    {ALL, WKEY, 7, 1, 100, 100, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step three_tasks_back[] = {
    {ALL, SEEK, 0, CBLK, CPOS, 1, 0}, {ALL, RKEY, 7, 1, 4, 4, 0},  {ALL, SEEK, 2, CBLK, CPOS, 1, 0},
    {ALL, RKEY, 7, 1, 3, 3, 0},       {ALL, RKEY, 8, 4, 9, 2, 0},  {ALL, SEEK, 0, CBLK, CPOS, 1, 0},
    {ALL, RKEY, 7, 1, 9, 6, 4},       {ALL, RKEY, 7, 1, 9, 5, 10}, {ALL, RKEY, 8, 1, 9, 3, 0},
    {ALL, SEEK, 2, CBLK, CPOS, 1, 0}, {ALL, RKEY, 8, 1, 1, 0, 0},  {ALL, RKEY, 7, 1, 99, 17, 3},
    {ALL, RKEY, 7, 1, 100, 100, 20},  {ALL, RKEY, 7, 1, 9, 0, 0},  {ALL, SEEK, 1, CBLK, CPOS, 1, 0},
    {ALL, RKEY, 7, 1, 1, 0, 0},       {ALL, RESET, 0, 0, 0, 1, 0}, {ALL, NEXT, 0, 0, 0, 0, 0},
    {ALL, SEEK, 0, CBLK, CPOS, 1, 0}, {ALL, RESET, 0, 0, 0, 1, 0}, {ALL, NEXT, 7, 10, 0, 1, 0},
    {ALL, NEXT, 8, 3, 0, 1, 0},       {ALL, SCAN, 0, 0, 0, 1, 0},  {ALL, STAT, 7, 2, 15, 1, 0},
    {ALL, SEEK, 2, CBLK, CPOS, 1, 0}, {ALL, SCAN, 0, 0, 0, 1, 0},  {ALL, STAT, 7, 2, 120, 1, 0},
    {0, END, 0, 0, 0, 0, 0}};

static const struct {
  const char* name;
  int mapped;
  const char *write_mode, *read_mode;
} switched[] = {
    {"serial, tasks in turn", 0, "wb,keyval", "rb"},
    {"serial, tasks in turn, posix", 0, "wb,keyval=inline,posix", "rb,posix"},
    {"mapped, tasks in turn", 1, "wb,keyval", "rb"},
    {"mapped, tasks in turn, posix", 1, "wb,posix,keyval", "rb,posix,keyval"},
};

static int open_three(int mapped, const char* mode) {
  int tasks = 3, files = 1, ranks[] = {0, 1, 2}, numbers[] = {0, 0, 0}, lranks[] = {0, 1, 2};
  int *r = ranks, *n = numbers, *l = lranks;
  sion_int64 chunks[] = {64, 64, 64}, *c = chunks;
  sion_int32 block = 64;
  char* name = (char*)path("three");
  return mapped ? sion_paropen_mapped_mpi(name, mode, &files, run.comm, &tasks, &r, &c, &n, &l, &block, NULL)
                : sion_open(name, mode, &tasks, &files, &c, &block, &r, NULL);
}

static void switch_tasks(int mapped, const char* mode, const struct step* steps) {
  struct stream s;
  memset(&s, 0, sizeof s);
  s.sid = open_three(mapped, mode);
  if (!expect("open", "a handle", 1, s.sid >= 0)) return;
  run_steps(&s, steps, 0, mode);
  expect("close", "result", 1, mapped ? sion_parclose_mapped_mpi(s.sid) : sion_close(s.sid));
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(scenarios); i++) run_scenario(&scenarios[i]);
  for (int i = 0; i < COUNT(switched); i++) {
    if (begin_case(switched[i].name, 1)) {
      switch_tasks(switched[i].mapped, switched[i].write_mode, three_tasks);
      switch_tasks(switched[i].mapped, switched[i].read_mode, three_tasks_back);
    }
    end_case(1);
  }
  return end_program();
}
