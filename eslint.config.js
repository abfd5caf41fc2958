import js from '@eslint/js';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** Everything that must never reach the workflow sandbox. */
const outsideTheSandbox = [
  {
    group: ['node:*', 'fs', 'path', 'crypto', 'os', 'http', 'https', 'net', 'tls'],
    message: 'No Node module in workflow code.',
  },
  {
    group: ['zod', 'zod/*', 'soap', '@kubernetes/*', '@opentelemetry/*', 'undici', 'yaml'],
    message: 'No vendor package in workflow code.',
  },
  {
    group: ['@temporalio/client', '@temporalio/worker', '@temporalio/activity', '@temporalio/testing'],
    message: 'Not in workflow code.',
  },
];
const noActivities = { regex: '/activities/', message: 'Workflows see contracts only.' };
const onlyContractsOfWorkflows = {
  regex: '/workflows/(?!contracts/|domain/)',
  message: 'Only contracts and domain are open to others.',
};
const noProcesses = { regex: '\\.\\./(workers|client|test)/', message: 'Dependencies point one way (DESIGN: layout).' };
const restrict = (...patterns) => ({ '@typescript-eslint/no-restricted-imports': ['error', { patterns }] });

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'test/histories/**', 'test/stack/tools/**'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['eslint.config.js'] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { 'import-x': importX },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      'import-x/no-cycle': 'error',
      'import-x/no-default-export': 'error',
      'no-console': 'error',
    },
    settings: { 'import-x/extensions': ['.ts', '.js'] },
  },
  {
    files: ['workflows/**'],
    rules: {
      ...restrict(...outsideTheSandbox, noActivities, noProcesses),
      'no-restricted-globals': ['error', 'process', 'console', 'fetch', 'setInterval', 'Buffer', 'require'],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Use uuid4() where an id is meant.' },
      ],
    },
  },
  {
    files: ['workflows/domain/**'],
    rules: restrict(...outsideTheSandbox, noActivities, noProcesses, {
      group: ['@temporalio/*', '**/contracts/**', '**/shared/**'],
      message: 'domain imports nothing.',
    }),
  },
  {
    files: ['workflows/contracts/**'],
    rules: restrict(...outsideTheSandbox, noActivities, noProcesses, {
      group: ['**/shared/**'],
      message: 'contracts import domain only.',
    }),
  },
  {
    files: ['activities/**'],
    rules: restrict(noProcesses, onlyContractsOfWorkflows, {
      group: ['soap', '@kubernetes/*', '@opentelemetry/*', '@temporalio/interceptors-opentelemetry/**'],
      message: 'Vendor libraries only in *-adapter files.',
    }),
  },
  {
    files: ['activities/**/*-adapter.ts'],
    rules: restrict(noProcesses, onlyContractsOfWorkflows),
  },
  {
    files: ['client/**'],
    rules: {
      ...restrict(
        onlyContractsOfWorkflows,
        {
          regex: '/activities/(?!schemas/|history/|codec/|tracing/)',
          message: 'The client imports schemas, the record, the codec and tracing only.',
        },
        { regex: '\\.\\./(workers|test)/', message: 'Nobody imports the processes.' },
      ),
    },
  },
  { files: ['eslint.config.js'], ...tseslint.configs.disableTypeChecked },
  { files: ['eslint.config.js'], rules: { 'import-x/no-default-export': 'off' } },
  {
    files: ['test/**'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', package: 'node:test', name: ['test', 'it', 'describe', 'suite'] },
          ],
        },
      ],
      'no-console': 'off',
    },
  },
);
