// sfio/api/shared_session: gives another library of the process that contains a copy of this code, such as
// the MPI-IO drop-in, access to the running session. That library looks up sheaf_sfio_shared_session() by
// name and creates its own link to the listeners.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "sfio/session/message_link.hpp"

namespace sheaf::sfio {

// Tags of the answers to the session's own link. The link of another library uses other tags, so that answers
// reach the right link.
inline constexpr AnswerTags own_tags{16, 15999};
inline constexpr AnswerTags guest_tags{16000, Messages::highest_tag};

struct SharedSession {
  int64_t number = 0;             // sequence number in this process, > 0; 0: no session
  MPI_Comm comm = MPI_COMM_NULL;  // communicator of the listeners; owned by the session
  double timeout = 0;
  int32_t listeners = 0;
  int32_t version = 2;  // struct version; a reader with another version must assume no session
};

struct SharedListener {
  const char* name = nullptr;  // valid until the session ends
  int64_t room = 0;
  int32_t task = 0;
};

}  // namespace sheaf::sfio

// Describes the running session in *session. If `begins` is not 0 and no session is running, starts one as
// mopen() does, which is collective; otherwise the call is local. Returns -1 on error.
extern "C" int sheaf_sfio_shared_session(sheaf::sfio::SharedSession* session, int begins);
// Describes listener `number` of the running session in *listener.
extern "C" void sheaf_sfio_shared_listener(int number, sheaf::sfio::SharedListener* listener);
