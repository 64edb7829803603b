(class_declaration name: (_) @name body: (_) @body) @definition.class
(export_statement value: (class body: (_) @body)) @definition.class

(function_declaration name: (_) @name body: (_) @body) @definition.function
(generator_function_declaration name: (_) @name body: (_) @body) @definition.function
(export_statement
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.function

([(lexical_declaration (variable_declarator
    name: (identifier) @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]))
  (variable_declaration (variable_declarator
    name: (identifier) @name
    value: [(arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)]))
] @definition.function)

([(lexical_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body)))
  (variable_declaration (variable_declarator name: (identifier) @name value: (class body: (_) @body)))
] @definition.class)

; const Button = memo(() => ...)
([(lexical_declaration (variable_declarator
    name: (identifier) @name
    value: (call_expression arguments: (arguments . [(arrow_function body: (_) @body) (function_expression body: (_) @body)]))))
] @definition.function.long)

(expression_statement (assignment_expression
  left: [(identifier) (member_expression)] @name
  right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @definition.function
(expression_statement (assignment_expression
  left: [(identifier) (member_expression)] @name
  right: (class body: (_) @body))) @definition.class

(method_definition name: (_) @name body: (_) @body) @definition.method
(pair key: (_) @name
  value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @definition.method.long

; module.exports = class Cart {}
((expression_statement (assignment_expression
  left: (member_expression object: (identifier) @module property: (property_identifier) @exports)
  right: (class name: (_) @name body: (_) @body))) @definition.class
  (#eq? @module "module") (#eq? @exports "exports"))
((expression_statement (assignment_expression
  left: (member_expression object: (identifier) @module property: (property_identifier) @exports)
  right: (function_expression name: (_) @name body: (_) @body))) @definition.function
  (#eq? @module "module") (#eq? @exports "exports"))
(assignment_expression right: (class name: (_) @name) @definition.member)
(assignment_expression right: (function_expression name: (_) @name) @definition.member)

(variable_declarator name: (identifier) @name value: (object)) @definition.scope
((variable_declarator name: (identifier) @name
  value: (call_expression function: (member_expression property: (_) @freeze) arguments: (arguments . (object))))
  @definition.scope (#eq? @freeze "freeze"))
(expression_statement (assignment_expression left: (member_expression) @name right: (object)) @definition.scope)
(pair key: (_) @name value: (object)) @definition.path
(pair key: [(property_identifier) (string)] @name) @definition.entry

((assignment_expression left: (member_expression object: (this) property: (_) @name)) @definition.attribute)

[(export_statement)] @wrapper

(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
  (lexical_declaration (variable_declarator name: (array_pattern (identifier) @name)) @definition.constant)
  (variable_declaration (variable_declarator name: (array_pattern (identifier) @name)) @definition.constant)
  (export_statement (lexical_declaration (variable_declarator name: [
    (array_pattern (identifier) @name)
    (object_pattern (shorthand_property_identifier_pattern) @name)
  ]) @definition.constant))
])

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (member_expression property: (_) @name)) @reference.call
(call_expression function: (member_expression
  object: [(identifier) @receiver (this) @receiver (member_expression property: (_) @receiver)]
  property: (_) @name)) @reference.call
(new_expression constructor: [(identifier) @name (member_expression property: (_) @name)]) @reference.call
