package main

import "encoding/binary"

// An operation of KPNG's protocol, as far as the swarm needs it.
type operation struct {
	kind  int
	set   uint64
	path  []byte
	value []byte
}

// Numbers of the schema.
const (
	opSync   = 1
	opSet    = 2
	opDelete = 3

	servicesSet  = 1
	endpointsSet = 2
)

func readOperation(message []byte) operation {
	var op operation
	eachField(message, func(number int, _ uint64, bytes []byte) {
		op.kind = number
		switch number {
		case opSet:
			eachField(bytes, func(number int, _ uint64, bytes []byte) {
				if number == 1 {
					op.readRef(bytes)
				} else {
					op.value = bytes
				}
			})
		case opDelete:
			op.readRef(bytes)
		}
	})
	return op
}

func (op *operation) readRef(bytes []byte) {
	eachField(bytes, func(number int, value uint64, bytes []byte) {
		if number == 1 {
			op.set = value
		} else {
			op.path = bytes
		}
	})
}

// The first IPv4 address: field 1 of field 2.
func addressOf(endpoint []byte) []byte {
	var address []byte
	eachField(endpoint, func(number int, _ uint64, ips []byte) {
		if number != 2 {
			return
		}
		eachField(ips, func(number int, _ uint64, text []byte) {
			if number == 1 && address == nil {
				address = text
			}
		})
	})
	return address
}

// Numbers and lengths are all that these messages have.
func eachField(message []byte, visit func(number int, value uint64, bytes []byte)) {
	for len(message) > 0 {
		key, used := binary.Uvarint(message)
		value, more := binary.Uvarint(message[max(used, 0):])
		if used <= 0 || more <= 0 {
			return
		}
		message = message[used+more:]
		if key&7 == 0 {
			visit(int(key>>3), value, nil)
			continue
		}
		if value > uint64(len(message)) {
			return
		}
		visit(int(key>>3), 0, message[:value])
		message = message[value:]
	}
}
