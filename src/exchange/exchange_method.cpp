#include "exchange/exchange_method.hpp"

#include "comm/reduce.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

namespace {

struct PlanTotals {
  int64_t links = 0, messages = 0, bytes = 0;  // both ends count
  constexpr void combine(auto& by) { by.sum(links).sum(messages).sum(bytes); }
};

}  // namespace

ExchangeMethod exchange_method(Comm& channel, const PlannedMessages& mine) {
  PlanTotals all{std::ssize(mine.peers), mine.messages, mine.bytes};
  reduce(channel, all);
  const int64_t hosts = channel.size();
  const bool is_dense = all.links >= hosts * (hosts - 1) / sparse_links;
  const bool are_short = all.bytes <= all.messages * short_message;
  return is_dense && are_short ? ExchangeMethod::alltoallv : ExchangeMethod::messages;
}

}  // namespace sheaf::exchange
