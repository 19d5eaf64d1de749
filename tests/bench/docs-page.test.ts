import { expect, test } from 'vitest'
import { withResults } from './docs-page.ts'

const page = ['# Top', '<!-- bench core: start -->', 'old', '<!-- bench core: end -->', 'Bottom', ''].join('\n')

test('new results replace the old ones of the same group and nothing else', () => {
  const written = withResults(page, 'core', 'new')
  expect(written).toBe('# Top\n<!-- bench core: start -->\n\nnew\n\n<!-- bench core: end -->\nBottom\n')
  expect(withResults(written, 'core', 'new')).toBe(written)
})

test('a group without a place on the page is told which lines to add', () => {
  expect(() => withResults(page, 'relay', 'new')).toThrow('add the lines <!-- bench relay: start -->')
})
