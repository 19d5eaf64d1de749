/** A transaction as a reader would tell it: one line for each element, chain and set. */
import type { NftOperation } from '../../../dataplane/nft/nft.ts'

export function describeOperations(operations: readonly NftOperation[]): readonly string[] {
  return operations.flatMap((operation): readonly string[] => {
    switch (operation.do) {
      case 'add elements':
        return operation.elements.map(({ key, value }) =>
          [`+ ${operation.set.name} ${key}`, ...(value === undefined ? [] : [value])].join(' : '),
        )
      case 'delete elements':
        return operation.keys.map((key) => `- ${operation.set.name} ${key}`)
      case 'add chain':
        return [`${operation.do} ${operation.chain.name}`]
      case 'flush chain':
      case 'delete chain':
        return [`${operation.do} ${operation.name}`]
      case 'add rule':
        return [`${operation.do} ${operation.chain}`]
      case 'add set':
      case 'delete set':
        return [`${operation.do} ${operation.set.name}`]
      case 'add table':
      case 'delete table':
        return [operation.do]
      default:
        return operation satisfies never
    }
  })
}
