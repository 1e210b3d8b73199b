// support/fibers/fiber_messages: messages between the fibers of one run (support/fibers/fiber_comm.hpp) over
// a modelled network, in virtual time. For tests and for simulating more nodes than there are.
//
// Every task has a port that sends and one that receives, each at `bandwidth`; a message takes `latency` more
// and is complete at its receiver when its last byte is. The clock stands while anybody has something to do,
// and jumps to the next event when all that are left rest. Nothing of this takes real time but the copying of
// bytes.
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
  // Links between switches that a message passes, each with as much bandwidth as a port and one message at a
  // time, the others waiting in a switch; null: a full crossbar.
  int links = 0;
  std::function<std::vector<int>(int from, int to)> route = nullptr;
};

class FiberNetwork {
 public:
  explicit FiberNetwork(int tasks, NetworkModel model = {});
  ~FiberNetwork();
  FiberNetwork(const FiberNetwork&) = delete;
  FiberNetwork& operator=(const FiberNetwork&) = delete;

  // Several per task are allowed; they share what comes by taking it in the order of their receives.
  std::unique_ptr<Messages> endpoint(int task);

  // From now on nothing reaches this task and nothing leaves it, as when its node has died.
  void kill(int task);

  // The same when the task is about to be sent its `count`-th message from now (0: the next).
  void kill_at_message(int task, int count);

  double now() const { return now_; }
  int64_t messages() const { return messages_; }  // sent so far

  // The running task does something else for so long, such as waiting for its disk.
  void spend(double seconds);

 private:
  struct Post;      // a receive that waits
  struct Mail;      // a message on its way or not yet asked for
  struct Crossing;  // one that has links in front of it
  class Endpoint;
  class Receipt;
  class Sending;
  struct Port {
    double free_out = 0;
    double free_in = 0;
    bool dead = false;
    int dies_in = -1;  // messages until it does; -1: it does not
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
  std::vector<double> links_;  // when each is free
  std::map<std::pair<double, int64_t>, Crossing>
      crossings_;              // by when they reach the next link, and by their numbers
  std::vector<double> wakes_;  // of tasks that rest; infinity: those that do not
  double now_ = 0;
  int64_t epoch_ = 0;  // changes when anything happens
  int64_t messages_ = 0;
};

}  // namespace sheaf
