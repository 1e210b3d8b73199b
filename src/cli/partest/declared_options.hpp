// cli/partest/declared_options: the options of sheaf-partest, as CLI11 is told of them.
#pragma once

#include "cli/partest/options.hpp"

namespace CLI {
class App;
}

namespace sheaf::partest {

void add_options(CLI::App& app, Options& options);

}  // namespace sheaf::partest
