import { assert, test } from 'vitest'
import { parseCommandLine } from './command-line.ts'

test('without a word, every proxy is tested', () => {
  const { does, proxies, isSmoke, nodeCount } = parseCommandLine([])
  assert.deepEqual({ does, proxies, isSmoke, nodeCount }, { does: 'test', proxies: [], isSmoke: false, nodeCount: 3 })
})

test('what CI says to every tier of tests is understood', () => {
  const words = '--smoke --reporter=default --reporter=json --outputFile.json=/tmp/report.json --no-file-parallelism'
  const { isSmoke, reportFile, proxies } = parseCommandLine([...words.split(' '), 'fairlead-nftables'])
  assert.deepEqual(
    { isSmoke, reportFile, proxies },
    {
      isSmoke: true,
      reportFile: '/tmp/report.json',
      proxies: ['fairlead-nftables'],
    },
  )
})

test('a count that is none is refused', () => {
  assert.throws(() => parseCommandLine(['--nodes=many']), '--nodes=many is not a number from 1 to 99')
})
