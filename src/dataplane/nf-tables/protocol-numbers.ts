/** Numbers of the kernel's nf_tables protocol (include/uapi/linux/netfilter/nf_tables.h). */

const subsystem = 10 << 8

export const nftMessage = {
  newTable: subsystem | 0,
  getTable: subsystem | 1,
  deleteTable: subsystem | 2,
  newChain: subsystem | 3,
  getChain: subsystem | 4,
  deleteChain: subsystem | 5,
  newRule: subsystem | 6,
  deleteRule: subsystem | 8,
  newSet: subsystem | 9,
  getSet: subsystem | 10,
  deleteSet: subsystem | 11,
  newElements: subsystem | 12,
  getElements: subsystem | 13,
  deleteElements: subsystem | 14,
  newGeneration: subsystem | 15,
  getGeneration: subsystem | 16,
} as const

/** The begin and the end of a transaction. They have the subsystem in their header, not in their type. */
export const batchMessage = { begin: 0x10, end: 0x11, subsystem: 10 } as const

export const familyNumber = { ipv4: 2, ipv6: 10 } as const

/** The multicast group of events. */
export const changesGroup = 7

export const tableField = { name: 1, userData: 6 } as const
export const chainField = { table: 1, name: 3, userData: 12 } as const
export const ruleField = { table: 1, chain: 2, expressions: 4, userData: 7 } as const
export const setField = { table: 1, name: 2, flags: 3 } as const
export const elementListField = { table: 1, set: 2, elements: 3 } as const
export const elementField = {
  key: 1,
  data: 2,
  flags: 3,
  userData: 6,
  expression: 7,
  keyEnd: 10,
  expressions: 11,
} as const
export const dataField = { value: 1, verdict: 2 } as const
export const verdictField = { code: 1, chain: 2 } as const
export const expressionField = { name: 1, data: 2 } as const
export const counterField = { packets: 2 } as const
export const generationField = { id: 1, processId: 2, processName: 3 } as const

export const listItem = 1
export const anonymousSet = 1
/** On an element of a set of prefixes: it is the first address after a prefix. */
export const intervalEnd = 1
/** In the user data of tables, chains, rules and elements: a comment that ends with NUL. */
export const commentUserData = 0

/** As the unsigned numbers of the messages; the header file has negative ones. */
export const verdictCode = {
  drop: 0,
  accept: 1,
  continue: 0xffff_ffff,
  jump: 0xffff_fffd,
  goto: 0xffff_fffc,
  return: 0xffff_fffb,
} as const
