// api/sfio/shared_session: the running session as another library of the process sees it: one that has a copy
// of the core of its own, as the MPI-IO drop-in has. It finds sheaf_sfio_shared_session() by name and makes a
// link of its own to the listeners.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "stripedfile/session/message_link.hpp"

namespace sheaf::sfio {

// Answers to the session's own link and to one of another library have different tags.
inline constexpr AnswerTags own_tags{16, 15999};
inline constexpr AnswerTags guest_tags{16000, Messages::highest_tag};

struct SharedSession {
  int64_t number = 0;             // of the session in this process, > 0; 0: there is none
  MPI_Comm comm = MPI_COMM_NULL;  // what listeners listen on; the session's
  double patience = 0;
  int32_t listeners = 0;
  int32_t version = 2;  // of this struct; whoever finds another one has no session
};

struct SharedListener {
  const char* name = nullptr;  // lives as long as the session
  int64_t room = 0;
  int32_t task = 0;
};

}  // namespace sheaf::sfio

// What is running now; with `begins` != 0 a session is begun as mopen() does, collectively, if there is none.
// -1 for an error. Fills *session. Local otherwise.
extern "C" int sheaf_sfio_shared_session(sheaf::sfio::SharedSession* session, int begins);
// Fills *listener: `number` of the running session.
extern "C" void sheaf_sfio_shared_listener(int number, sheaf::sfio::SharedListener* listener);
