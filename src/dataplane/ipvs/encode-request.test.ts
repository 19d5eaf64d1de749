import { expect, test } from 'vitest'
import { hex } from '../netlink/testing/hex.ts'
import type { VirtualServer } from './ipvs.ts'
import { flush, listRealServers, listServers, operation, setTimeouts, timeouts } from './encode-request.ts'

// Linux 6.1 accepted these bytes.

const web: VirtualServer = { ip: '10.96.0.10', port: 80, protocol: 'TCP', scheduler: 'rr', flags: 0, timeoutSeconds: 0 }
const sticky: VirtualServer = { ...web, ip: 'fd00::10', flags: 1, timeoutSeconds: 10_800 }

const webAddress = '0600 0100 0200 0000  0600 0200 0600 0000  0800 0300 0a60000a  0600 0400 0050 0000'
const webOptions = '0700 0600 727200 00  0c00 0700 00000000 ffffffff  0800 0800 00000000  0800 0900 ffffffff'
const realAddress = '0800 0100 0af40102  0600 0200 1f90 0000  0600 0b00 0200 0000'

test('a virtual server is made and changed with all its attributes', () => {
  expect(operation({ kind: 'add-server', server: web })).toEqual(hex(`01010000 4800 0100 ${webAddress} ${webOptions}`))
  expect(operation({ kind: 'edit-server', server: web })).toEqual(hex(`02010000 4800 0100 ${webAddress} ${webOptions}`))
})

test('the mask of an IPv6 server is a length', () => {
  expect(operation({ kind: 'add-server', server: sticky })).toEqual(
    hex(`01010000  5400 0100
      0600 0100 0a00 0000  0600 0200 0600 0000  1400 0300 fd000000000000000000000000000010  0600 0400 0050 0000
      0700 0600 727200 00  0c00 0700 01000000 ffffffff  0800 0800 302a0000  0800 0900 80000000`),
  )
})

test('a virtual server is deleted by its address alone', () => {
  expect(operation({ kind: 'delete-server', server: web })).toEqual(hex(`03010000 2400 0100 ${webAddress}`))
})

test('each protocol has its number', () => {
  const numberOf = (protocol: VirtualServer['protocol']) =>
    operation({ kind: 'delete-server', server: { ...web, protocol } }).readUInt16LE(20)
  expect((['TCP', 'UDP', 'SCTP'] as const).map(numberOf)).toEqual([6, 17, 132])
})

test('a real server is added by network address translation, with its family', () => {
  const realServer = { ip: '10.244.1.2', port: 8080, weight: 1 }
  const options = '0800 0300 00000000  0800 0400 01000000  0800 0500 00000000  0800 0600 00000000'
  const body = `2400 0100 ${webAddress}  3c00 0200 ${realAddress} ${options}`
  expect(operation({ kind: 'add-real-server', server: web, realServer })).toEqual(hex(`05010000 ${body}`))
  expect(operation({ kind: 'edit-real-server', server: web, realServer })).toEqual(hex(`06010000 ${body}`))
})

test('a real server is deleted by its address alone', () => {
  const realServer = { ip: '10.244.1.2', port: 8080 }
  expect(operation({ kind: 'delete-real-server', server: web, realServer })).toEqual(
    hex(`07010000 2400 0100 ${webAddress}  1c00 0200 ${realAddress}`),
  )
})

test('lists, timeouts and flush are asked for', () => {
  expect(listServers()).toEqual(hex('04010000'))
  expect(listRealServers(web)).toEqual(hex(`08010000 2400 0100 ${webAddress}`))
  expect(timeouts()).toEqual(hex('0d010000'))
  expect(setTimeouts({ tcpSeconds: 900, tcpFinSeconds: 30, udpSeconds: 0 })).toEqual(
    hex('0c010000 0800 0400 84030000 0800 0500 1e000000 0800 0600 00000000'),
  )
  expect(flush()).toEqual(hex('11010000'))
})
