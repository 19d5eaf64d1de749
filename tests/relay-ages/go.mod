module fairlead.dev/relay-ages

go 1.25
