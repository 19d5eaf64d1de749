module fairlead.dev/bench/userspace

go 1.24
