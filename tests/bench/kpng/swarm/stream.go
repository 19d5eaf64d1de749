package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

// One gRPC call on an HTTP/2 connection of its own, with the windows that every client begins with.
type stream struct {
	connection net.Conn
	reader     *bufio.Reader
	unread     []byte
	consumed   int
}

const (
	frameData         = 0
	frameHeaders      = 1
	frameReset        = 3
	frameSettings     = 4
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8

	flagAck        = 1
	flagEndStream  = 1
	flagEndHeaders = 4

	streamID = 1
	window   = 65535
)

func newStream(connection net.Conn) *stream {
	return &stream{connection: connection, reader: bufio.NewReaderSize(connection, 32<<10)}
}

func (s *stream) open(request []byte) error {
	hello := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	hello = appendFrame(hello, frameSettings, 0, 0, nil)
	hello = appendFrame(hello, frameHeaders, flagEndHeaders, streamID, headerBlock(
		":method", "POST",
		":scheme", "http",
		":path", "/localv1.Sets/Watch",
		":authority", "core",
		"content-type", "application/grpc",
		"te", "trailers",
	))
	hello = appendFrame(hello, frameData, 0, streamID, request)
	_, err := s.connection.Write(hello)
	return err
}

func (s *stream) send(request []byte) error {
	_, err := s.connection.Write(appendFrame(nil, frameData, 0, streamID, request))
	return err
}

// Hands over one message after the other, until the connection ends.
func (s *stream) read(onMessage func([]byte) error, onBytes func(int)) error {
	var header [9]byte
	for {
		if _, err := io.ReadFull(s.reader, header[:]); err != nil {
			return err
		}
		length := int(header[0])<<16 | int(header[1])<<8 | int(header[2])
		onBytes(len(header) + length)
		if err := s.onFrame(header[3], header[4], length, onMessage); err != nil {
			return err
		}
	}
}

func (s *stream) onFrame(kind, flags byte, length int, onMessage func([]byte) error) error {
	start := len(s.unread)
	s.unread = append(s.unread, make([]byte, length)...)
	payload := s.unread[start:]
	if _, err := io.ReadFull(s.reader, payload); err != nil {
		return err
	}
	if kind == frameData {
		if err := s.takeMessages(onMessage); err != nil {
			return err
		}
		return s.giveBack(length)
	}
	defer func() { s.unread = s.unread[:start] }()
	switch {
	case kind == frameHeaders && flags&flagEndStream != 0, kind == frameReset, kind == frameGoAway:
		return fmt.Errorf("the core ended a stream (frame %d)", kind)
	case kind == frameSettings && flags&flagAck == 0:
		_, err := s.connection.Write(appendFrame(nil, frameSettings, flagAck, 0, nil))
		return err
	case kind == framePing && flags&flagAck == 0:
		_, err := s.connection.Write(appendFrame(nil, framePing, flagAck, 0, payload))
		return err
	}
	return nil
}

// A message has a flag for compression and its length before it, and may be cut by frames anywhere.
func (s *stream) takeMessages(onMessage func([]byte) error) error {
	rest := s.unread
	for len(rest) >= 5 {
		end := 5 + int(binary.BigEndian.Uint32(rest[1:5]))
		if len(rest) < end {
			break
		}
		if err := onMessage(rest[5:end]); err != nil {
			return err
		}
		rest = rest[end:]
	}
	s.unread = append(s.unread[:0], rest...)
	return nil
}

// The core may send as much again, once half of the window is used.
func (s *stream) giveBack(length int) error {
	s.consumed += length
	if s.consumed < window/2 {
		return nil
	}
	var increment [4]byte
	binary.BigEndian.PutUint32(increment[:], uint32(s.consumed))
	s.consumed = 0
	update := appendFrame(nil, frameWindowUpdate, 0, 0, increment[:])
	_, err := s.connection.Write(appendFrame(update, frameWindowUpdate, 0, streamID, increment[:]))
	return err
}

func appendFrame(to []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	length := len(payload)
	to = append(to, byte(length>>16), byte(length>>8), byte(length), kind, flags)
	to = binary.BigEndian.AppendUint32(to, stream)
	return append(to, payload...)
}

// Names and values as they are: no table, no compression.
func headerBlock(pairs ...string) []byte {
	var block []byte
	for i, text := range pairs {
		if i%2 == 0 {
			block = append(block, 0)
		}
		block = append(block, byte(len(text)))
		block = append(block, text...)
	}
	return block
}

func watchRequest(node string) []byte {
	message := append([]byte{0x0a, byte(len(node))}, node...)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}
