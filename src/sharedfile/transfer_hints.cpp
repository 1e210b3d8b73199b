#include "sharedfile/transfer_hints.hpp"

namespace sheaf {

namespace {

using exchange::Sieving;
using exchange::Together;

Sieving sieving(Choice choice) {
  return choice == Choice::enable    ? Sieving::always
         : choice == Choice::disable ? Sieving::never
                                     : Sieving::automatic;
}
Together::Way way(Choice choice) {
  return choice == Choice::enable    ? Together::Way::always
         : choice == Choice::disable ? Together::Way::never
                                     : Together::Way::automatic;
}

}  // namespace

exchange::Alone alone(const Hints& hints, bool writes) {
  return {.sieving = sieving(writes ? hints.sieve_write : hints.sieve_read),
          .buffer = writes ? hints.sieve_write_size : hints.sieve_read_size};
}

exchange::Together together(const Hints& hints, bool writes) {
  Together how;
  how.exchange = way(writes ? hints.collective_write : hints.collective_read);
  how.alone = alone(hints, writes);
  how.aggregators = hints.aggregators;
  how.stripes = hints.striping_factor;
  how.buffer = hints.buffer_size;
  how.shared = hints.shared;
  how.overlap = hints.overlap;
  how.reuse = hints.reuse;
  return how;
}

}  // namespace sheaf
