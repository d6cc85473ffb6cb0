// What Biome cannot see without types: promises nobody awaits, the size budget of the style guide, and regular expressions
// that take quadratic time or more.
import regexp from 'eslint-plugin-regexp'
import tseslint from 'typescript-eslint'

const TYPED_RULES = {
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
  // A collection of rows is a type and no interface, which has no index signature.
  '@typescript-eslint/consistent-type-definitions': 'off',
  // These two take a third of the linter's time. The compiler refuses enums, and classes here are errors alone.
  '@typescript-eslint/no-unsafe-enum-assignment': 'off',
  '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
}

export default tseslint.config(
  { ignores: ['dist/**', '**/node_modules/**', '.ci/**', 'coverage/**'] },
  {
    files: ['src/**/*.ts', 'sdk/**/*.ts', 'components/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'build/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./test/tsconfig.others.json', './test/browser/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      ...TYPED_RULES,
      // Marked as deprecated so that nobody overlooks it: `providerFetch` says where plain http may go.
      '@typescript-eslint/no-deprecated': [
        'error',
        { allow: [{ from: 'package', name: 'allowInsecureRequests', package: 'openid-client' }] },
      ],
    },
  },
  {
    files: ['console/**/*.ts'],
    ignores: ['console/wallet/**'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './console/tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    rules: TYPED_RULES,
  },
  {
    files: ['console/wallet/**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: './console/wallet/tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: TYPED_RULES,
  },
  {
    files: ['console/**/*.ts', 'src/**/*.ts', 'sdk/**/*.ts', 'components/**/*.ts'],
    plugins: { regexp },
    rules: {
      // A text from outside may be as long as its limit allows: no expression may go over a part of it again and again.
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignorePartial: false }],
    },
  },
  {
    files: ['console/**/*.ts', 'src/**/*.ts', 'sdk/**/*.ts', 'components/**/*.ts'],
    // The schemas are generated.
    ignores: ['**/*.test.ts', '**/*.contract.ts', 'components/test/**', 'sdk/server/*-schemas.ts'],
    rules: {
      'max-lines': ['error', { max: 300 }],
      'max-lines-per-function': ['error', { max: 40, skipComments: true, skipBlankLines: true }],
      'max-params': ['error', 4],
    },
  },
)
