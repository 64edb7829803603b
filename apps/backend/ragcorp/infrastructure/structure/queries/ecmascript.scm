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

(variable_declarator name: (identifier) @name value: (object)) @definition.scope

[(export_statement)] @wrapper

(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.constant)
  (export_statement (lexical_declaration (variable_declarator name: (identifier) @name) @definition.constant))
])

(call_expression function: (identifier) @name) @reference.call
(call_expression function: (member_expression property: (_) @name)) @reference.call
(call_expression function: (member_expression
  object: [(identifier) @receiver (this) @receiver (member_expression property: (_) @receiver)]
  property: (_) @name)) @reference.call
(new_expression constructor: [(identifier) @name (member_expression property: (_) @name)]) @reference.call
