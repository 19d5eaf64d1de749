import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { localAddresses, parseFibTrie, parseIfInet6 } from './local-addresses.ts'

test('IPv4 addresses are read from the routing table, each once, and networks are none', () => {
  const text = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.200.0.0/24 2 0 2
        |-- 10.200.0.0
           /24 link UNICAST
        |-- 10.200.0.2
           /32 host LOCAL
        |-- 10.200.0.255
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
Local:
        |-- 10.200.0.2
           /32 host LOCAL
`
  expect(parseFibTrie(text)).toEqual(['10.200.0.2', '127.0.0.1'])
})

test('IPv6 addresses are read from their hex digits', () => {
  const text = `00000000000000000000000000000001 01 80 10 80       lo
fe80000000000000a8bbccfffedd0001 02 40 20 80    veth0
`
  expect(parseIfInet6(text)).toEqual(['::1', 'fe80::a8bb:ccff:fedd:1'])
})

const canUnshare = (() => {
  try {
    execFileSync('unshare', ['-n', 'true'], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
})()

test.skipIf(!canUnshare)('an address counts also when its device has no carrier (skipped without root)', () => {
  const module = fileURLToPath(new URL('local-addresses.ts', import.meta.url))
  const tsx = fileURLToPath(new URL('../../../node_modules/.bin/tsx', import.meta.url))
  const script = `ip link add name one type veth peer name two && ip addr add 10.9.8.7/24 dev one && ip link set one up &&
    ${tsx} -e "import('${module}').then((it) => console.log(JSON.stringify(it.localAddresses())))"`
  const printed = execFileSync('unshare', ['-n', 'sh', '-c', script], { encoding: 'utf8', stdio: 'pipe' })
  expect(JSON.parse(printed)).toContain('10.9.8.7')
})

test("on Windows the addresses are those of Node's own list, whatever somebody has put at C:\\proc", () => {
  const known = Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address))
  expect(localAddresses('win32')).toEqual(known)
})
