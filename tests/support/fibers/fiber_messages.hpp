// support/fibers/fiber_messages: messages between the fibers of one run (support/fibers/fiber_comm.hpp) over
// a modelled network, in virtual time. For tests, and for simulating more hosts than are available.
//
// Every task has a sending and a receiving port, each of `bandwidth`. A message takes `latency` in addition
// and is complete when its last byte has arrived. The clock stands still while any task is busy, and jumps to
// the next event when all remaining tasks sleep or wait. Only the copying of bytes takes real time.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "comm/messages.hpp"

namespace sheaf {

struct NetworkModel {
  double latency = 5e-6;                                       // seconds
  double bandwidth = std::numeric_limits<double>::infinity();  // bytes per second and port
  // Links between switches on a message's route. Each has the bandwidth of a port and carries one message at
  // a time; others wait in a switch. Null: a full crossbar.
  int links = 0;
  // A message takes this part of its time at the receiving port once more for every other message that waits
  // there.
  double contention = 0;
  // Bytes of a message that are copied: its beginning. For programs that read no data.
  int64_t copied = std::numeric_limits<int64_t>::max();
  std::function<std::vector<int>(int from, int to)> route = nullptr;
};

class FiberNetwork {
 public:
  explicit FiberNetwork(int tasks, NetworkModel model = {});
  ~FiberNetwork();
  FiberNetwork(const FiberNetwork&) = delete;
  FiberNetwork& operator=(const FiberNetwork&) = delete;

  // Creates an endpoint. A task may have several; arriving messages go to their receives in the order of
  // posting.
  std::unique_ptr<Messages> endpoint(int task);

  // From now on no message reaches or leaves this task, as if its host had died.
  void kill(int task);

  // Like kill(), but takes effect when the `count`-th message from now (0: the next) is about to be sent to
  // the task.
  void kill_at_message(int task, int count);

  double now() const { return now_; }
  int64_t messages() const { return messages_; }  // messages sent so far

  // Occupies the running task for `seconds` of virtual time, for instance with disk access.
  void spend(double seconds);

 private:
  struct Post;      // a waiting receive
  struct Mail;      // a message in flight or not yet received
  struct Crossing;  // a message that has yet to pass links
  class Endpoint;
  class Receipt;
  class Sending;
  struct Port {
    double free_out = 0;
    double free_in = 0;
    bool dead = false;
    int dies_in = -1;  // messages until the task dies; -1: never
    std::list<Mail> mail;
    std::list<Post*> posts;
  };

  void cross();
  void deliver(Port& port);
  void take_in(Port& port);
  double next_event(const Port& port) const;
  void advance_clock();
  void rest_until(int task, double wake);

  NetworkModel model_;
  std::vector<Port> ports_;
  std::vector<double> links_;  // when each link becomes free
  std::map<std::pair<double, int64_t>, Crossing>
      crossings_;              // by arrival time at the next link, then by number
  std::vector<double> wakes_;  // wake-up times of sleeping tasks; infinity for tasks that do not sleep
  double now_ = 0;
  int64_t epoch_ = 0;  // incremented by every event
  int64_t messages_ = 0;
};

}  // namespace sheaf
