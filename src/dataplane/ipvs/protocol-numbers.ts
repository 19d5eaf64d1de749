/**
 * Numbers of the IPVS netlink protocol (include/uapi/linux/ip_vs.h). Ports are most significant byte first, everything
 * else is in host byte order.
 */

export const ipvsFamily = 'IPVS'

export const command = {
  newServer: 1,
  setServer: 2,
  deleteServer: 3,
  getServer: 4,
  newRealServer: 5,
  setRealServer: 6,
  deleteRealServer: 7,
  getRealServer: 8,
  setConfig: 12,
  getConfig: 13,
  flush: 17,
} as const

export const field = { server: 1, realServer: 2, tcpTimeout: 4, tcpFinTimeout: 5, udpTimeout: 6 } as const

export const serverField = {
  family: 1,
  protocol: 2,
  ip: 3,
  port: 4,
  scheduler: 6,
  flags: 7,
  timeout: 8,
  netmask: 9,
  counters: 12,
} as const

export const realServerField = {
  ip: 1,
  port: 2,
  forwarding: 3,
  weight: 4,
  upperThreshold: 5,
  lowerThreshold: 6,
  activeConnections: 7,
  inactiveConnections: 8,
  family: 11,
  counters: 12,
} as const

/** Each has 64 bits, since Linux 4.1. */
export const counterField = { connections: 1, bytesIn: 4, bytesOut: 5 } as const

export const familyNumber = { ipv4: 2, ipv6: 10 } as const

export const protocolNumber = { TCP: 6, UDP: 17, SCTP: 132 } as const

/** The kernel sets it on every server in its table. */
export const hashedFlag = 0x2
