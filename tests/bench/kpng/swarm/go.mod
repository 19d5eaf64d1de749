module fairlead.test/bench/kpng-swarm

go 1.24.0
