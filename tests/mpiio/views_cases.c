/* One case of views: every task writes through its view, task 0 examines the file with the operating system's
 * calls. Every task reads its own or its neighbour's data through its view, and the rest after the file is
 * truncated. See views.h.
 *
 * Arrangements in which tasks share a file without writing a byte twice:
 * apart        the views begin in regions of their own
 * interleaved  the units of a view have gaps for those of the other tasks
 * alike        all have the same view and different offsets, as shared file pointers require
 * dealt        the file types themselves are parts of an array */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "views.h"

enum arrangement { apart, interleaved, alike, dealt_out };
static const char* const arrangement_names[] = {"apart", "interleaved", "alike", "dealt"};
enum { max_tasks = 16, filler = 0xEE };

struct part {                      /* of a task */
  MPI_Offset displacement, offset; /* bytes; etypes */
  struct map map;                  /* map of the file type */
  MPI_Datatype filetype;           /* own only */
  int count;                       /* instances in memory */
  long long bytes;
};

struct one {
  const struct shape* shape;
  const struct way* way;
  int turn, number;
  enum arrangement arrangement;
  MPI_Datatype etype, unit;
  int width;                           /* bytes of data in an etype */
  const struct shape *source, *target; /* memory types */
  struct map memory;                   /* of the source */
  struct part parts[max_tasks];
  long long start, prefill, end; /* first offset of shared pointers; bytes before writing; bytes after it */
  unsigned char* file;           /* expected contents */
};

struct memory {
  MPI_Datatype type;
  struct map map;
  unsigned char *all, *wanted, *address;
  size_t room;
  struct buffer buffer;
};

static struct memory memory_of(const struct one* c, const struct shape* shape, int count) {
  struct memory m = {.type = committed(shape->make(c->etype, 0, 1))};
  m.map = map_of(m.type);
  m.room = m.map.high - m.map.low + (count ? count - 1 : 0) * m.map.extent + 64;
  m.all = malloc(m.room);
  m.wanted = malloc(m.room);
  memset(m.all, filler, m.room);
  memset(m.wanted, filler, m.room);
  m.address = m.all + 32 - m.map.low;
  m.buffer = (struct buffer){m.address, count, m.type};
  if (c->turn % 4 == 3 && count > 0) { /* the type contains absolute addresses */
    MPI_Aint address;
    MPI_Datatype absolute;
    MPI_Get_address(m.address, &address);
    MPI_Type_create_hindexed(1, &count, &address, m.type, &absolute);
    m.buffer = (struct buffer){MPI_BOTTOM, 1, committed(absolute)};
  }
  return m;
}

static void drop(struct memory* m) {
  if (m->buffer.type != m->type) MPI_Type_free(&m->buffer.type);
  MPI_Type_free(&m->type);
  forget(&m->map);
  free(m->all);
  free(m->wanted);
}

/* Returns the number of etypes in an instance of the shape. */
static long held(const struct one* c, const struct shape* shape) {
  MPI_Datatype type = shape->make(c->etype, 0, 1);
  const long size = size_of(type);
  MPI_Type_free(&type);
  return size / c->width;
}

static const struct shape* memory_shape(int wish, int use) {
  while (!(shapes[wish % shape_count].use & use)) ++wish;
  return &shapes[wish % shape_count];
}

static void make_types(struct one* c) {
  const MPI_Aint room = c->arrangement == interleaved ? tasks : 1;
  c->etype = committed(etypes[(c->turn + c->number) % etype_count].make());
  MPI_Type_create_resized(c->etype, 0, room * extent_of(c->etype), &c->unit);
  c->width = size_of(c->etype);
  for (int who = 0; who < tasks; ++who) {
    MPI_Datatype type =
        c->shape->make(c->unit, c->shape->use & dealt ? who : 0, c->shape->use & dealt ? tasks : 1);
    if (extent_of(type) % extent_of(c->unit) && c->arrangement == interleaved)
      type = resized(type, 0, (extent_of(type) / extent_of(c->unit) + 1) * extent_of(c->unit));
    MPI_Type_commit(&type);
    c->parts[who].map = map_of(type);
    if (who == rank)
      c->parts[who].filetype = type;
    else
      MPI_Type_free(&type);
  }
}

/* Sets offsets and counts such that each view begins where the previous task's view ends. `less` counts
 * attempts; a second attempt has less data. */
static void lay_out(struct one* c, int less) {
  static const int begins[] = {0, 5, 64, 4099};
  long long region = begins[c->number % 4], sum;
  const long first = c->parts[0].map.size / c->width;
  c->start = sum = less ? 0 : (long long[]){0, 1, first, first + 1}[c->turn % 4];
  for (int who = 0; who < tasks; ++who) {
    struct part* p = &c->parts[who];
    const long units = p->map.size / c->width, in_one = held(c, c->source);
    const long long wanted = less ? units / (tasks * less) : 2 * units + 1 + who % 2;
    p->count = (int)(less ? wanted / in_one : (wanted + in_one - 1) / in_one);
    if (units == 0 || (who > 0 && who == tasks - 1 && c->number % 5 == 2)) p->count = 0;
    p->bytes = p->count * in_one * c->width;
    p->offset = c->arrangement == alike ? sum : units ? c->start : 0;
    sum += p->bytes / c->width;
    p->displacement = region + (c->arrangement == interleaved ? who * extent_of(c->etype) : 0);
    if (c->arrangement != apart) continue;
    for (long long i = 0; i < p->bytes; ++i) {
      const long long end = p->displacement + place(&p->map, p->offset * c->width + i) + 1;
      if (end > region) region = end;
    }
    region += who;
  }
}

/* Computes the final contents of the file. Returns 0 if a byte would be written twice. */
static int write_in_model(struct one* c) {
  MPI_Datatype memory = committed(c->source->make(c->etype, 0, 1));
  forget(&c->memory);
  c->memory = map_of(memory);
  MPI_Type_free(&memory);
  unsigned char* taken = calloc(1, file_room);
  int once = 1;
  c->end = c->prefill;
  memset(c->file, 0, file_room);
  for (long long i = 0; i < c->prefill; ++i) c->file[i] = value(c->number, max_tasks, i);
  for (int who = 0; who < tasks && once; ++who)
    for (long long i = 0; i < c->parts[who].bytes && once; ++i) {
      const struct part* p = &c->parts[who];
      const long long at = p->displacement + place(&p->map, p->offset * c->width + i);
      if (at < 0 || at >= file_room) MPI_Abort(MPI_COMM_WORLD, 4);
      once = !taken[at];
      taken[at] = 1;
      c->file[at] = value(c->number, who, place(&c->memory, i));
      if (at >= c->end) c->end = at + 1;
    }
  free(taken);
  return once;
}

static void prepare(struct one* c) {
  const int by_all = c->way->pointer == shared_pointer || c->way->pointer == ordered_pointer;
  c->arrangement = by_all ? alike : (enum arrangement)((c->turn + c->number / 7) % 3);
  if (c->shape->use & dealt) c->arrangement = dealt_out;
  if (c->shape->use & apart_only && c->arrangement == interleaved) c->arrangement = apart;
  make_types(c);
  c->source = memory_shape(c->turn * 7 + c->number * 3, as_source);
  c->target = memory_shape(c->turn * 11 + c->number * 5 + 2, in_memory);
  c->prefill = (long long[]){0, 77, 20000}[c->number % 3];
  c->file = malloc(file_room);
  lay_out(c, 0);
  if (write_in_model(c)) return;
  c->source = &shapes[0]; /* units one by one */
  for (int less = 1; lay_out(c, less), !write_in_model(c); ++less) {
  }
}

static void ask_for_view(const struct one* c, MPI_File file) {
  const struct part* p = &c->parts[rank];
  MPI_Offset displacement = -1;
  MPI_Datatype types[2];
  char datarep[MPI_MAX_DATAREP_STRING] = "";
  gives(MPI_File_get_view(file, &displacement, &types[0], &types[1], datarep), MPI_SUCCESS,
        "MPI_File_get_view");
  is(displacement, p->displacement, "displacement of the view");
  is(extent_of(types[0]), extent_of(c->etype), "extent of the view's etype");
  is(extent_of(types[1]), p->map.extent, "extent of the view's file type");
  is(size_of(types[1]), p->map.size, "size of the view's file type");
  check(strcmp(datarep, "native") == 0, "representation: expected native, found %s", datarep);
  for (int i = 0; i < 2; ++i)
    if (!is_named(types[i])) MPI_Type_free(&types[i]);
  const long units = p->map.size / c->width;
  const long long asked[] = {0, units - 1, units, 2 * units + 1, p->offset};
  for (int i = 0; i < 5 && units > 0; ++i) {
    MPI_Offset at = -1;
    gives(MPI_File_get_byte_offset(file, asked[i], &at), MPI_SUCCESS, "MPI_File_get_byte_offset");
    is(at, p->displacement + place(&p->map, asked[i] * c->width), "byte offset");
  }
}

static int moved(const struct one* c, MPI_File file, int writes, MPI_Offset at, const struct buffer* b,
                 MPI_Status* status) {
  if (c->way->pointer == own_pointer)
    gives(MPI_File_seek(file, at, MPI_SEEK_SET), MPI_SUCCESS, "MPI_File_seek");
  return (writes ? c->way->writes : c->way->reads)(file, at, b, status);
}

/* With a shared pointer tasks take turns, in rank order. */
static void transfer(const struct one* c, MPI_File file, int writes, MPI_Offset at, const struct memory* m,
                     long long bytes) {
  const int in_turn = c->way->pointer == shared_pointer;
  MPI_Status status;
  int code = MPI_SUCCESS, count = -1;
  memset(&status, 0, sizeof status);
  for (int who = 0; who < (in_turn ? tasks : 1); ++who) {
    if (!in_turn || who == rank) code = moved(c, file, writes, at, &m->buffer, &status);
    if (in_turn) MPI_Barrier(MPI_COMM_WORLD);
  }
  gives(code, MPI_SUCCESS, writes ? "writing" : "reading");
  MPI_Get_count(&status, m->buffer.type, &count);
  is(count, m->buffer.count, writes ? "count of the status of writing" : "count of the status of reading");
  MPI_Offset pointer = -1;
  if (c->way->pointer == own_pointer) {
    MPI_File_get_position(file, &pointer);
    is(pointer, at + bytes / c->width, "file pointer");
  }
}

static void pointer_is(MPI_File file, long long expected) {
  MPI_Offset pointer = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  gives(MPI_File_get_position_shared(file, &pointer), MPI_SUCCESS, "MPI_File_get_position_shared");
  is(pointer, expected, "shared file pointer");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void write_all_parts(const struct one* c, MPI_File file) {
  const struct part* p = &c->parts[rank];
  struct memory m = memory_of(c, c->source, p->count);
  for (long long i = 0; i < p->bytes; ++i)
    m.address[place(&m.map, i)] = value(c->number, rank, place(&m.map, i));
  transfer(c, file, 1, p->offset, &m, p->bytes);
  drop(&m);
}

static void look_at_file(const struct one* c, const char* path) {
  unsigned char* found = calloc(1, file_room);
  const int descriptor = open(path, O_RDONLY);
  const long long length = pread(descriptor, found, file_room, 0);
  close(descriptor);
  is(length, c->end, "bytes in the file");
  long long i = 0;
  while (i < c->end && found[i] == c->file[i]) ++i;
  check(i >= c->end, "byte %lld of the file: expected %02x, found %02x", i, c->file[i % file_room],
        found[i % file_room]);
  free(found);
}

/* Reads `count` instances of `shape` at `at` through this task's view and checks them. `end` is the length
 * of the file in bytes. */
static void read_part(const struct one* c, MPI_File file, MPI_Offset at, int count, const struct shape* shape,
                      long long end) {
  const struct part* p = &c->parts[rank];
  struct memory m = memory_of(c, shape, count);
  const long long bytes = count * m.map.size;
  long long there = 0;
  for (long long i = 0; i < bytes; ++i) {
    const long long from = p->displacement + place(&p->map, at * c->width + i);
    if (from >= end) break;
    m.wanted[&m.address[place(&m.map, i)] - m.all] = c->file[from];
    ++there;
  }
  if (there == bytes) {
    transfer(c, file, 0, at, &m, bytes);
  } else {
    MPI_Status status;
    int found = -1;
    gives(moved(c, file, 0, at, &m.buffer, &status), MPI_SUCCESS, "reading over the end of the file");
    MPI_Get_count(&status, MPI_BYTE, &found);
    is(found, there, "bytes read up to the end of the file");
  }
  size_t i = 0;
  while (i < m.room && (m.all[i] == m.wanted[i] || (there < bytes && m.wanted[i] == filler))) ++i;
  check(i == m.room, "byte %lld of memory: expected %02x, found %02x", (long long)(&m.all[i] - m.address),
        m.wanted[i % m.room], m.all[i % m.room]);
  drop(&m);
}

/* Returns the number of whole instances in memory that hold no more data than was written. */
static int readable(const struct one* c, const struct shape* shape, int kind) {
  return (int)(c->parts[kind].bytes / (held(c, shape) * c->width));
}

static void read_parts(const struct one* c, MPI_File file) {
  const int by_all = c->way->pointer == shared_pointer || c->way->pointer == ordered_pointer;
  const int kind = c->arrangement == alike && !by_all ? (rank + 1) % tasks : rank;
  MPI_Offset at = c->parts[kind].offset;
  if (by_all) {
    long long before = c->start;
    for (int who = 0; who < rank; ++who) before += readable(c, c->target, who) * held(c, c->target);
    at = before;
  }
  read_part(c, file, at, readable(c, c->target, kind), c->target, c->end);
}

static long long all_units(const struct one* c, int reading) {
  long long sum = c->start;
  for (int who = 0; who < tasks; ++who)
    sum += reading ? readable(c, c->target, who) * held(c, c->target) : c->parts[who].bytes / c->width;
  return sum;
}

static void synchronised(MPI_File file) {
  gives(MPI_File_sync(file), MPI_SUCCESS, "MPI_File_sync");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void carry_out(const struct one* c, MPI_File file, const char* path) {
  const struct part* p = &c->parts[rank];
  const int by_all = c->way->pointer == shared_pointer || c->way->pointer == ordered_pointer;
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_set_size(file, 0);
  if (rank == 0) {
    unsigned char* before = malloc(c->prefill + 1);
    for (long long i = 0; i < c->prefill; ++i) before[i] = value(c->number, max_tasks, i);
    MPI_File_write_at(file, 0, before, (int)c->prefill, MPI_BYTE, MPI_STATUS_IGNORE);
    free(before);
  }
  synchronised(file);
  gives(MPI_File_set_view(file, p->displacement, c->etype, p->filetype, "native", MPI_INFO_NULL), MPI_SUCCESS,
        "MPI_File_set_view");
  ask_for_view(c, file);
  if (by_all) gives(MPI_File_seek_shared(file, c->start, MPI_SEEK_SET), MPI_SUCCESS, "MPI_File_seek_shared");
  write_all_parts(c, file);
  synchronised(file);
  if (by_all) pointer_is(file, all_units(c, 0));
  if (rank == 0) look_at_file(c, path);
  MPI_Offset size = -1;
  gives(MPI_File_get_size(file, &size), MPI_SUCCESS, "MPI_File_get_size");
  is(size, c->end, "size of the file");
  if (by_all) gives(MPI_File_seek_shared(file, c->start, MPI_SEEK_SET), MPI_SUCCESS, "MPI_File_seek_shared");
  read_parts(c, file);
  if (by_all) pointer_is(file, all_units(c, 1));
  if (by_all || c->turn % 2) return;
  /* Truncates the file within the view. */
  const long long end =
      c->parts[0].displacement + (c->end - c->parts[0].displacement) * (c->number % 11) / 11;
  MPI_Barrier(MPI_COMM_WORLD);
  gives(MPI_File_set_size(file, end), MPI_SUCCESS, "MPI_File_set_size");
  /* All take part, as the call may be collective. In views with decreasing offsets the remaining data is no
   * prefix of the stream. */
  read_part(c, file, p->offset, rises(&p->map) ? readable(c, &shapes[0], rank) : 0, &shapes[0], end);
}

void run_case(MPI_File file, const char* path, const struct shape* shape, const struct way* way, int turn,
              int number) {
  struct one c = {.shape = shape, .way = way, .turn = turn, .number = number};
  if (shape->use & dealt && (way->pointer == shared_pointer || way->pointer == ordered_pointer)) return;
  prepare(&c);
  now("view %s, %s, %s, etype %s, from memory %s, to memory %s, turn %d", shape->name, way->name,
      arrangement_names[c.arrangement], etypes[(turn + number) % etype_count].name, c.source->name,
      c.target->name, turn);
  carry_out(&c, file, path);
  for (int who = 0; who < tasks; ++who) forget(&c.parts[who].map);
  MPI_Type_free(&c.parts[rank].filetype);
  MPI_Type_free(&c.unit);
  if (!is_named(c.etype)) MPI_Type_free(&c.etype);
  forget(&c.memory);
  free(c.file);
}
