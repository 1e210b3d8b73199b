// streams/preload/entries/aio: POSIX asynchronous I/O. The library performs operations on captured files
// before the call returns, because they only copy memory. The result is stored in the control block, where
// aio_error, aio_return and aio_suspend of the C library find it.
#include <aio.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

void* call_notified(void* event) {
  const auto* const given = static_cast<const sigevent*>(event);
  given->sigev_notify_function(given->sigev_value);
  delete given;
  return nullptr;
}

void notify(const sigevent& event) {
  if (event.sigev_notify == SIGEV_SIGNAL) sigqueue(getpid(), event.sigev_signo, event.sigev_value);
  if (event.sigev_notify != SIGEV_THREAD || !event.sigev_notify_function) return;
  auto* const copy = new (std::nothrow) sigevent(event);
  pthread_t thread;
  if (copy && pthread_create(&thread, nullptr, call_notified, copy) == 0) pthread_detach(thread);
}

void finish(aiocb& block, ssize_t result) {
  block.__return_value = result;
  block.__error_code = result < 0 ? errno : 0;
}

enum class What { read, write, sync };
void perform(aiocb& block, What what) {
  void* const data = const_cast<void*>(block.aio_buf);
  switch (what) {
    case What::read:
      return finish(block, pread64(block.aio_fildes, data, block.aio_nbytes, block.aio_offset));
    case What::write:
      return finish(block, pwrite64(block.aio_fildes, data, block.aio_nbytes, block.aio_offset));
    case What::sync:
      return finish(block, fsync(block.aio_fildes));
  }
}

int submit(aiocb* block, What what) {
  perform(*block, what);
  notify(block->aio_sigevent);
  return 0;
}

bool any_captured(aiocb* const* list, int n) {
  for (int i = 0; i < n; ++i)
    if (list[i] && is_captured(list[i]->aio_fildes)) return true;
  return false;
}

}  // namespace

SHEAF_REPLACED_AND(int, aio_read, aio_read64, aiocb* block) {
  return is_captured(block->aio_fildes) ? submit(block, What::read) : next::aio_read(block);
}
SHEAF_REPLACED_AND(int, aio_write, aio_write64, aiocb* block) {
  return is_captured(block->aio_fildes) ? submit(block, What::write) : next::aio_write(block);
}
SHEAF_REPLACED_AND(int, aio_fsync, aio_fsync64, int how, aiocb* block) {
  return is_captured(block->aio_fildes) ? submit(block, What::sync) : next::aio_fsync(how, block);
}
SHEAF_REPLACED_AND(int, aio_cancel, aio_cancel64, int fd, aiocb* block) {
  return is_captured(fd) ? AIO_ALLDONE : next::aio_cancel(fd, block);
}
SHEAF_REPLACED_AND(int, lio_listio, lio_listio64, int mode, aiocb* const* list, int n, sigevent* event) {
  if (!any_captured(list, n)) return next::lio_listio(mode, list, n, event);
  if (mode != LIO_WAIT && mode != LIO_NOWAIT) return failed(EINVAL);
  int bad = 0;
  for (int i = 0; i < n; ++i) {
    if (!list[i] || list[i]->aio_lio_opcode == LIO_NOP) continue;
    submit(list[i], list[i]->aio_lio_opcode == LIO_READ ? What::read : What::write);
    if (list[i]->__error_code != 0) bad = EIO;
  }
  if (mode == LIO_NOWAIT && event) notify(*event);
  return bad ? failed(bad) : 0;
}

}  // namespace sheaf::preload
