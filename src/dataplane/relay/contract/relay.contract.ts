/** What every relay engine must do, with real sockets on loopback. */
import { describe } from 'vitest'
import { ageContract } from './age.contract.ts'
import { countersContract } from './counters.contract.ts'
import { faultContract } from './fault.contract.ts'
import { limitsContract } from './limits.contract.ts'
import { listenerContract } from './listener.contract.ts'
import { spreadContract } from './spread.contract.ts'
import { streamsContract } from './streams.contract.ts'
import { tcpContract } from './tcp.contract.ts'
import { reportsContract } from './reports.contract.ts'
import type { MakeRelay } from '../testing/relay-under-test.ts'
import { udpContract } from './udp.contract.ts'

export function relayContract(name: string, make: MakeRelay): void {
  describe(`${name}: listeners`, () => {
    listenerContract(make)
  })
  describe(`${name}: TCP`, () => {
    tcpContract(make)
    streamsContract(make)
  })
  describe(`${name}: spreading`, () => {
    spreadContract(make)
  })
  describe(`${name}: ages`, () => {
    ageContract(make)
  })
  describe(`${name}: limits`, () => {
    limitsContract(make)
  })
  describe(`${name}: counters`, () => {
    countersContract(make)
  })
  describe(`${name}: reports`, () => {
    reportsContract(make)
  })
  describe(`${name}: faults`, () => {
    faultContract(make)
  })
  describe(`${name}: UDP`, () => {
    udpContract(make)
  })
}
