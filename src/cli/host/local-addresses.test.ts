import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { localAddresses, localAddressReader, parseFibTrie, parseIfInet6 } from './local-addresses.ts'

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

/** What the files and the kernel say in a network namespace, after some commands there. */
function addressesAfter(commands: string): { readonly files: readonly string[]; readonly kernel: readonly string[] } {
  const path = (file: string) => fileURLToPath(new URL(file, import.meta.url))
  const tsx = path('../../../node_modules/.bin/tsx')
  const code = `Promise.all([import('${path('local-addresses.ts')}'), import('${path('../../dataplane/addresses/own-ips.ts')}')])
    .then(async ([files, kernel]) => {
      const read = await kernel.openOwnIps()
      const once = read()
      console.log(JSON.stringify({ files: files.localAddresses(), kernel: JSON.stringify(read()) === JSON.stringify(once) ? once : 'not twice the same' }))
    })`
  const script = `${commands} && ${tsx} -e "${code}"`
  return JSON.parse(execFileSync('unshare', ['-n', 'sh', '-c', script], { encoding: 'utf8', stdio: 'pipe' })) as never
}

test.skipIf(!canUnshare)('an address counts also when its device has no carrier (skipped without root)', () => {
  const { files, kernel } = addressesAfter(
    'ip link add name one type veth peer name two && ip addr add 10.9.8.7/24 dev one && ip link set one up',
  )
  expect(files).toContain('10.9.8.7')
  expect(kernel).toContain('10.9.8.7')
})

test.skipIf(!canUnshare)('an address that comes or goes is noticed by the next who asks (skipped without root)', () => {
  const ownIps = fileURLToPath(new URL('../../dataplane/addresses/own-ips.ts', import.meta.url))
  const code = `import('${ownIps}').then(async ({ openOwnIps }) => {
    const { execSync } = require('node:child_process')
    const read = await openOwnIps()
    const lists = [read(), read()]
    execSync('ip addr add 10.9.8.7/24 dev lo')
    lists.push(read(), read())
    execSync('ip addr add fd09::7/64 dev lo')
    lists.push(read())
    execSync('ip addr del 10.9.8.7/24 dev lo')
    lists.push(read())
    execSync('ip -batch -', { input: Array.from({ length: 200 }, (_, index) => 'addr add 10.9.7.' + (index + 1) + '/32 dev lo\\n').join('') + 'addr add 10.9.8.7/32 dev lo\\n' })
    lists.push(read())
    const isSame = [lists[0] === lists[1], lists[2] === lists[3]]
    console.log(JSON.stringify({ isSame, has: lists.map((ips) => ['10.9.8.7', 'fd09::7'].map((ip) => ips.includes(ip))) }))
  })`
  const tsx = fileURLToPath(new URL('../../../node_modules/.bin/tsx', import.meta.url))
  const told = execFileSync('unshare', ['-n', tsx, '-e', code], { encoding: 'utf8', stdio: 'pipe' })
  expect(JSON.parse(told)).toEqual({
    // Nobody has listed them again for nothing.
    isSame: [true, true],
    has: [
      [false, false],
      [false, false],
      [true, false],
      [true, false],
      [true, true],
      [false, true],
      // More changes than the kernel keeps for somebody who does not ask.
      [true, true],
    ],
  })
})

test.skipIf(!canUnshare)('the kernel tells the same addresses as its files (skipped without root)', () => {
  const { files, kernel } = addressesAfter(
    `ip link set lo up && ip link add name one type veth peer name two && ip link set one up && ip link set two up &&
     ip addr add 10.9.8.7/24 dev one && ip addr add 10.9.8.8 peer 10.1.1.1/32 dev two && ip addr add fd09::7/64 dev one nodad &&
     ip route add 192.0.2.0/24 via 10.9.8.1`,
  )
  expect(kernel.toSorted()).toEqual(files.toSorted())
  expect(kernel).toEqual(expect.arrayContaining(['127.0.0.1', '::1', '10.9.8.7', '10.9.8.8', 'fd09::7']))
})

test('files are read until the kernel can be asked, and where it cannot or fails', async () => {
  const asked = localAddressReader('linux', async () => () => ['10.0.0.1'])
  expect(asked()).not.toEqual(['10.0.0.1'])
  await Promise.resolve()
  expect(asked()).toEqual(['10.0.0.1'])

  const refused = localAddressReader('linux', () => Promise.reject(new Error('no netlink here')))
  refused()
  await Promise.resolve()
  expect(refused()).toEqual(localAddresses())

  const broken = localAddressReader('linux', async () => () => {
    throw new Error('the socket is closed')
  })
  broken()
  await Promise.resolve()
  expect(broken()).toEqual(localAddresses())
})

test("on Windows the addresses are those of Node's own list, whatever somebody has put at C:\\proc", () => {
  const known = Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address))
  expect(localAddresses('win32')).toEqual(known)
})
