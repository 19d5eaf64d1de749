import { expect, test } from 'vitest'
import { parseRealServerTable } from './real-server-table.ts'

// Printed by Linux 6.1.
const table = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  [fd00:0000:0000:0000:0000:0000:0000:0010]:0050 rr persistent 6000 80000000
  -> [fd00:0064:0000:0000:0000:0000:0000:0001]:1F90      Masq    1      2          13
TCP  0A60000A:0050 mh  persistent 1080000 FFFFFFFF
  -> 0A400002:0050      Route   0      0          0
  -> 0A400001:1F90      Masq    1      3          5
UDP  0A60000B:0035 rr ops
SCTP  0A60000B:0035 wrr
FWM  00000005 rr
  -> 0A400001:0050      Masq    1      0          0
TCP  0A60000C:01BB lc
  -> C0A80101:20FB      Masq    1      1          0
`

const realServer = (
  ip: string,
  port: number,
  weight: number,
  activeConnections: number,
  inactiveConnections: number,
) => ({
  ip,
  port,
  weight,
  activeConnections,
  inactiveConnections,
})

test('the table tells the real servers of each virtual server', async () => {
  expect(await parseRealServerTable(table)).toEqual(
    new Map([
      ['[fd00::10]:80/TCP', [realServer('fd00:64::1', 8080, 1, 2, 13)]],
      ['10.96.0.10:80/TCP', [realServer('10.64.0.2', 80, 0, 0, 0), realServer('10.64.0.1', 8080, 1, 3, 5)]],
      ['10.96.0.11:53/UDP', []],
      ['10.96.0.11:53/SCTP', []],
      // These are the real servers of a firewall mark, so they are left out.
      ['10.96.0.12:443/TCP', [realServer('192.168.1.1', 8443, 1, 1, 0)]],
    ]),
  )
})

test('an empty table, or what is no table, has no servers', async () => {
  expect(await parseRealServerTable('')).toEqual(new Map())
  expect(await parseRealServerTable('TCP nonsense rr\n  -> nowhere Masq 1 0 0\n')).toEqual(new Map())
})
