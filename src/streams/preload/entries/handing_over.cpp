#include "streams/preload/entries/handing_over.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include <cerrno>

#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

struct HandoverResult {
  int result, error;
};

struct DescriptorMessage {
  HandoverResult answer{-1, EIO};
  iovec data{&answer, sizeof answer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  explicit DescriptorMessage(bool with_descriptor) {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (!with_descriptor) return;
    header.msg_control = room;
    header.msg_controllen = sizeof room;
  }
};

}  // namespace

void hand_over(int socket, int fd, int error) {
  DescriptorMessage message(fd >= 0);
  message.answer = {fd, error};
  if (fd >= 0) {
    cmsghdr* const head = CMSG_FIRSTHDR(&message.header);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  sendmsg(socket, &message.header, MSG_NOSIGNAL);
}

int take_over(int socket, int flags) {
  DescriptorMessage message(true);
  ssize_t got = 0;
  while ((got = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) continue;
  real::close(socket);
  errno = message.answer.error;
  const cmsghdr* const head = got > 0 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (!head) return message.answer.result >= 0 ? (errno = EMFILE, -1) : message.answer.result;
  int fd = -1;
  memcpy(&fd, CMSG_DATA(head), sizeof fd);
  const int lowest = real::fcntl(fd, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
  const int why = errno;
  real::close(fd);
  return errno = why, lowest;
}

}  // namespace sheaf::preload
