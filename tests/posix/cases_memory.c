#include "cases.h"

void cases_memory(void) {
  const long page = sysconf(_SC_PAGESIZE);
  const int fd = file_with("cap.map", "mapped bytes");
  char* memory = mmap(NULL, 12, PROT_READ, MAP_PRIVATE, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory, "mapped bytes", 12) == 0);
  CALL(munmap(memory, 12));
  memory = mmap(NULL, 12, PROT_READ, MAP_SHARED, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory, "mapped bytes", 12) == 0);
  CALL(munmap(memory, 12));
  memory = mmap(NULL, 12, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  memory[0] = 'M';
  show("cap.map");
  CALL(munmap(memory, 12));
  CALL(mmap(NULL, 12, PROT_READ, MAP_PRIVATE, fd, 1) == MAP_FAILED ? -1 : 0);
  CALL(mmap(NULL, 0, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
  CALL(ftruncate(fd, 3 * page));
  CALL(pwrite(fd, "far", 3, page + 1));
  memory = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, fd, page);
  VALUE(memory != MAP_FAILED && memcmp(memory + 1, "far", 3) == 0);
  VALUE(madvise(memory, (size_t)page, MADV_DONTNEED) == 0 && memcmp(memory + 1, "far", 3) == 0);
  CALL(munmap(memory, (size_t)page));
  const size_t more = (size_t)64 << 30;
  memory = mmap(NULL, more, PROT_READ, MAP_SHARED, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory + page + 1, "far", 3) == 0);
  CALL(munmap(memory, more));
  CALL(close(fd));
  const int written = open("cap.map", O_WRONLY);
  CALL(mmap(NULL, 12, PROT_READ, MAP_PRIVATE, written, 0) == MAP_FAILED ? -1 : 0);
  CALL(close(written));
  CALL(unlink("cap.map"));
}
