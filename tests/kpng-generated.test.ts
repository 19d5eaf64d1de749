import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { generateKpng } from '../tools/generate-kpng.ts'

test('the committed code for KPNG messages is what the .proto files say (else run npx tsx tools/generate-kpng.ts)', async () => {
  for (const [path, text] of await generateKpng()) expect(readFileSync(path, 'utf8')).toBe(text)
})
