import { expect, test } from 'vitest'
import { parseAddresses } from './parse-addresses.ts'

test.each([
  ['IP Address:                           10.96.0.3', ['10.96.0.3']],
  ['IP Address:10.96.0.4', ['10.96.0.4']],
  ['IP 地址:                           10.96.0.2', ['10.96.0.2']],
  ['IP Address:', []],
  ['IP Address 10.96.0.5', []],
  ['The filename, directory name, or volume label syntax is incorrect.', []],
  ['', []],
])('114: %j has %j', (printed, addresses) => {
  expect(parseAddresses(printed, 'ipv4')).toEqual(addresses)
})

test('114, unlike upstream: the label need not contain "IP", because it may be in any language', () => {
  expect(parseAddresses('Dirección:   10.96.0.3\r\n', 'ipv4')).toEqual(['10.96.0.3'])
})

test('of a whole listing only the addresses are found: not the prefixes, masks and gateways', () => {
  const printed = [
    '',
    'Configuration for interface "vEthernet (HNS Internal NIC)"',
    '    DHCP enabled:                         No',
    '    IP Address:                           172.20.0.1',
    '    Subnet Prefix:                        172.20.0.0/16 (mask 255.255.0.0)',
    '    IP Address:                           10.96.0.10',
    '    Subnet Prefix:                        10.96.0.10/32 (mask 255.255.255.255)',
    '    Default Gateway:                      172.20.0.254',
    '    Gateway Metric:                       256',
    '    InterfaceMetric:                      5000',
    '',
  ].join('\r\n')
  expect(parseAddresses(printed, 'ipv4')).toEqual(['172.20.0.1', '10.96.0.10'])
})

test.each<[string, readonly number[]]>([
  // "IP アドレス:" in code page 932.
  ['Japanese', [0x49, 0x50, 0x20, 0x83, 0x41, 0x83, 0x68, 0x83, 0x8c, 0x83, 0x58, 0x3a]],
  // "IP 地址:" in code page 936.
  ['Chinese', [0x49, 0x50, 0x20, 0xb5, 0xd8, 0xd6, 0xb7, 0x3a]],
  // A wide colon in code page 936.
  ['Chinese with a wide colon', [0x49, 0x50, 0x20, 0xb5, 0xd8, 0xd6, 0xb7, 0xa3, 0xba]],
  // "IP-адрес:" in code page 866.
  ['Russian', [0x49, 0x50, 0x2d, 0xa0, 0xa4, 0xe0, 0xa5, 0xe1, 0x3a]],
])('a %s label that is unreadable does no harm', (_, label) => {
  const printed = Buffer.concat([Buffer.from(label), Buffer.from('   10.96.0.7\r\n')]).toString()
  expect(printed).toContain('\uFFFD')
  expect(parseAddresses(printed, 'ipv4')).toEqual(['10.96.0.7'])
})

test('IPv6 addresses are found in both layouts, without their interface', () => {
  const table = [
    'Interface 12: vEthernet (HNS Internal NIC)',
    '',
    'Addr Type  DAD State   Valid Life Pref. Life Address',
    '---------  ----------- ---------- ---------- ------------------------',
    'Manual     Preferred     infinite   infinite fd00:96::10',
    'Other      Preferred     infinite   infinite fe80::1c5e:52a1:9b3:7d01%12',
  ].join('\r\n')
  expect(parseAddresses(table, 'ipv6')).toEqual(['fd00:96::10', 'fe80::1c5e:52a1:9b3:7d01'])
  const parameters = [
    'Address FD00:96::0010 Parameters',
    '---------------------------------------------------------',
    'Interface Luid     : vEthernet (HNS Internal NIC)',
    'Scope Id           : 0.0',
    'Valid Lifetime     : infinite',
    'DAD State          : Preferred',
    'Skip as Source     : true',
  ].join('\r\n')
  expect(parseAddresses(parameters, 'ipv6')).toEqual(['fd00:96::10'])
})
